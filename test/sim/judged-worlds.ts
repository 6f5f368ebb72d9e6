import { alertControls } from "./controls/alert-controls.ts";
import { inhibitionControls } from "./controls/inhibition-controls.ts";
import type { NegativeControl } from "./controls/mutation.ts";
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
  ...storeControls,
});

const longestAccount = 120;

/** What went wrong in a run, for a person, and what led to it. */
export function accountOf(
  { scenario, story, hash }: Run,
  violations: readonly Violation[],
): string {
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

const judged = new Map<number, Promise<JudgedWorld>>();

async function judge(seed: number): Promise<JudgedWorld> {
  const run = await simulate(seed);
  const violations = judgeRun(run.scenario, run.history);
  const broken = violations.length === 0 ? "" : accountOf(run, violations);
  return { hash: run.hash, broken };
}

/** What the unbroken daemon broke in the world of a seed. Each world is run once. */
export function judgedWorld(seed: number): Promise<JudgedWorld> {
  const world = judged.get(seed) ?? judge(seed);
  judged.set(seed, world);
  return world;
}

/** Enough for each control to show, should all worlds be drawn again. */
const worldsTried = 40;

/**
 * What the oracle finds in the first world in which it finds what is expected. A control is not caught if the oracle
 * finds something with the unbroken daemon in the same world: that would be a false alarm.
 */
export async function catchControl(
  { from, caughtAs = /./, ...mutation }: NegativeControl,
  unbroken: (seed: number) => Promise<Pick<JudgedWorld, "broken">> = judgedWorld,
): Promise<{ readonly isCaught: boolean; readonly text: string }> {
  for (let seed = from; seed < from + worldsTried; seed += 1) {
    const run = await simulate(seed, mutation);
    const violations = judgeRun(run.scenario, run.history);
    if (!violations.some(({ text }) => caughtAs.test(text))) continue;
    const { broken } = await unbroken(seed);
    if (broken !== "") return { isCaught: false, text: `without the mutation, ${broken}` };
    return { isCaught: true, text: accountOf(run, violations) };
  }
  return { isCaught: false, text: `nothing that was expected was found in ${worldsTried} worlds` };
}
