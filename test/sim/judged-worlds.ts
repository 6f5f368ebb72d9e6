import { alertControls } from "./controls/alert-controls.ts";
import { inhibitionControls } from "./controls/inhibition-controls.ts";
import type { NegativeControl } from "./controls/mutation.ts";
import { routingControls } from "./controls/routing-controls.ts";
import { sandboxControls } from "./controls/sandbox-controls.ts";
import { serviceControls } from "./controls/service-controls.ts";
import { storeControls } from "./controls/store-controls.ts";
import { cronExpression } from "./draw/schedule.ts";
import type { Violation } from "./oracle/evidence.ts";
import { judgeRun } from "./oracle/judge-run.ts";
import { simulate, type Run } from "./simulate.ts";
import { timeText } from "./support/world.ts";

/** All broken daemons that the oracle must catch, by what they do. */
export const negativeControls = Object.entries({
  ...serviceControls,
  ...alertControls,
  ...inhibitionControls,
  ...routingControls,
  ...sandboxControls,
  ...storeControls,
});

const longestAccount = 120;

/** What went wrong in a run, for a person, and what led to it. */
function accountOf({ scenario, story, hash }: Run, violations: readonly Violation[]): string {
  const about = [...new Set(violations.flatMap((each) => each.about))];
  const lines = story.filter(
    ({ text }) => isAboutTheWorld(text) || about.some((name) => text.includes(name)),
  );
  const { seed, intervalMs, schedule, goneAfter, rules, receivers } = scenario;
  const cron = schedule ? ` by ${cronExpression(schedule)} in ${schedule.timeZone}` : "";
  const left = lines.length - longestAccount;
  return [
    `seed ${seed} broke ${violations.length} promises (trace ${hash.slice(0, 16)}):`,
    ...violations.map(({ text }) => `  - ${text.replaceAll(/\b(\d{5,}) ms\b/g, readTime)}`),
    `again: npm run test:sim -- --seeds 1 --start ${seed} --story`,
    "",
    `polled every ${intervalMs} ms${cron}, gone after ${goneAfter}`,
    ...rules.map((rule) => `rule ${JSON.stringify(rule)}`),
    ...receivers.map((receiver) => `receiver ${JSON.stringify(receiver)}`),
    "",
    ...(left > 0 ? [`(${left} earlier lines are omitted)`] : []),
    ...lines.slice(-longestAccount).map(({ atMs, text }) => `${timeText(atMs)}  ${text}`),
  ].join("\n");
}

function isAboutTheWorld(text: string): boolean {
  return /^(process \d+ (starts|is|stopped|could)|the (store|wall clock)|from now on)/.test(text);
}

function readTime(_: string, ms: string): string {
  return timeText(Number(ms));
}

export interface JudgedWorld {
  readonly hash: string;
  /** What was broken; empty if nothing was. */
  readonly broken: string;
}

/** Says that something has not come, which may still come before the end of a world. */
const mayStillCome =
  /nobody was notified|times instead of|was sent 0 times|was reminded of|went on, though|not open at PagerDuty|still open|did not stop/;

/** What is broken for good in a run that goes on. */
function judgeSoFar({ scenario, history }: Run): readonly Violation[] {
  return judgeRun(scenario, history).filter(({ text }) => !mayStillCome.test(text));
}

const judged = new Map<string, Promise<JudgedWorld>>();

async function judge(seed: number, until: number | null): Promise<JudgedWorld> {
  const run = await simulate(seed, {}, until === null ? undefined : (_, stop) => stop === until);
  const violations = until === null ? judgeRun(run.scenario, run.history) : judgeSoFar(run);
  const broken = violations.length === 0 ? "" : accountOf(run, violations);
  return { hash: run.hash, broken };
}

/**
 * What the unbroken daemon broke in the world of a seed. Each world is run once.
 *
 * @param until a stop of the world; null: its end
 */
export function judgedWorld(seed: number, until: number | null = null): Promise<JudgedWorld> {
  const name = `${seed} until ${until}`;
  const world = judged.get(name) ?? judge(seed, until);
  judged.set(name, world);
  return world;
}

/** Enough for each control to show, should all worlds be drawn again. */
const worldsTried = 40;

/**
 * What the oracle finds in the first world in which it finds what is expected. The world ends at the first stop at which it
 * does. A control is not caught if the oracle finds something with the unbroken daemon in the same world until then: that
 * would be a false alarm.
 */
export async function catchControl(
  { from, caughtAs = /./, ...mutation }: NegativeControl,
  unbroken: (
    seed: number,
    until: number | null,
  ) => Promise<Pick<JudgedWorld, "broken">> = judgedWorld,
): Promise<{ readonly isCaught: boolean; readonly text: string }> {
  for (let seed = from; seed < from + worldsTried; seed += 1) {
    let found: readonly Violation[] = [];
    const isFound = (): boolean => found.some(({ text }) => caughtAs.test(text));
    let until: number | null = null;
    const run = await simulate(seed, mutation, (soFar, stop) => {
      found = judgeSoFar(soFar);
      if (isFound()) until = stop;
      return until !== null;
    });
    if (until === null) found = judgeRun(run.scenario, run.history);
    if (!isFound()) continue;
    const { broken } = await unbroken(seed, until);
    if (broken !== "") return { isCaught: false, text: `without the mutation, ${broken}` };
    return { isCaught: true, text: accountOf(run, found) };
  }
  return { isCaught: false, text: `nothing that was expected was found in ${worldsTried} worlds` };
}
