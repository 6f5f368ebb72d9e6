import { account } from "./account.ts";
import { judgeRun } from "./oracle/judge-run.ts";
import { simulate } from "./simulate.ts";
import type { Run } from "./simulate.ts";
import type { NegativeControl } from "./support/negative-controls.ts";

/** What was broken in a world, for a person; nothing if nothing was. */
export function brokenIn(run: Run): string {
  const violations = judgeRun(run.scenario, run.history);
  return violations.length === 0 ? "" : account(run, violations);
}

/** Enough for each to show, should all worlds be drawn anew. */
const seedsTried = 40;

/** What the oracle finds in the first world in which it finds something; nothing if in none. */
export async function catchControl({
  mutation,
  from,
  caughtAs = /./,
}: NegativeControl): Promise<string> {
  for (let seed = from; seed < from + seedsTried; seed += 1) {
    const run = await simulate(seed, mutation);
    const violations = judgeRun(run.scenario, run.history);
    if (violations.some(({ text }) => caughtAs.test(text))) return account(run, violations);
  }
  return "";
}
