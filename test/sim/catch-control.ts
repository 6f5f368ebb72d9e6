import { account } from "./account.ts";
import { judgeRun } from "./oracle/judge-run.ts";
import { simulate } from "./simulate.ts";
import type { Run } from "./simulate.ts";
import type { NegativeControl } from "./support/negative-controls.ts";

/** What was broken in a world, for a person; nothing if nothing was. */
function brokenIn(run: Run): string {
  const violations = judgeRun(run.scenario, run.history);
  return violations.length === 0 ? "" : account(run, violations);
}

export interface Judged {
  readonly hash: string;
  /** For a person; nothing if nothing was. */
  readonly broken: string;
}

const judged = new Map<number, Promise<Judged>>();

/** What the daemon as it is broke in the world of a seed. Each world is run once. */
export function judgedWorld(seed: number): Promise<Judged> {
  const known = judged.get(seed);
  if (known) return known;
  const run = simulate(seed).then((each) => ({ hash: each.hash, broken: brokenIn(each) }));
  judged.set(seed, run);
  return run;
}

/** Enough for each to show, should all worlds be drawn anew. */
const seedsTried = 40;

/**
 * What the oracle finds in the first world in which it finds what is expected. A control is not caught if the oracle
 * finds something with the unbroken daemon in the same world: that would be a false alarm.
 */
export async function catchControl(
  { mutation, from, caughtAs = /./ }: NegativeControl,
  unbroken: (seed: number) => Promise<Pick<Judged, "broken">> = judgedWorld,
): Promise<{ readonly isCaught: boolean; readonly text: string }> {
  for (let seed = from; seed < from + seedsTried; seed += 1) {
    const run = await simulate(seed, mutation);
    const violations = judgeRun(run.scenario, run.history);
    if (!violations.some(({ text }) => caughtAs.test(text))) continue;
    const { broken } = await unbroken(seed);
    if (broken !== "") return { isCaught: false, text: `without the mutation, ${broken}` };
    return { isCaught: true, text: account(run, violations) };
  }
  return { isCaught: false, text: `nothing that was expected was found in ${seedsTried} worlds` };
}
