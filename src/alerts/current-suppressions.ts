import { IdTakenError } from "./incident.ts";
import type { Suppressions } from "./silence.ts";

/** What suppresses notifications, as this process knows it. Others may change what is stored of it at any time. */
export interface CurrentSuppressions {
  at(atMs: number): Suppressions;
  /** Reads again what is stored. */
  reload(): Promise<void>;
}

/**
 * Somebody added or ended a silence, or acknowledged an incident, after it was judged what to notify. Nothing was written:
 * it is judged again by what is in force now.
 */
export class SuppressionsChangedError extends Error {
  override readonly name = "SuppressionsChangedError";
  constructor() {
    super("Silences or acknowledgements have changed since it was judged what to notify.");
  }
}

/** At the last attempt it does not matter any more whether they change: an extra message is better than a missing one. */
const mostAttempts = 10;

/**
 * Judges and commits. Both are done again if silences or acknowledgements changed before the commit, or if the id that was
 * drawn for a new incident is taken.
 *
 * @param attempt commits what is judged by the suppressions that it is given
 */
export async function judgeAndCommit<Value>(
  suppressions: CurrentSuppressions,
  attempt: (current: Pick<CurrentSuppressions, "at">) => Promise<Value>,
): Promise<Value> {
  for (let left = mostAttempts - 1; ; left -= 1) {
    const uncompared = { at: (atMs: number) => ({ ...suppressions.at(atMs), version: null }) };
    try {
      return await attempt(left === 0 ? uncompared : suppressions);
    } catch (error) {
      if (left === 0) throw error;
      if (error instanceof SuppressionsChangedError) await suppressions.reload();
      else if (!(error instanceof IdTakenError)) throw error;
    }
  }
}

/** The same for what was judged already. @returns what was committed */
export function commitJudged<Judged>(
  suppressions: CurrentSuppressions,
  judged: Judged,
  judgeAgain: (current: Pick<CurrentSuppressions, "at">) => Promise<Judged>,
  commit: (judged: Judged) => Promise<void>,
): Promise<Judged> {
  let first: Judged | null = judged;
  return judgeAndCommit(suppressions, async (current) => {
    const each = first ?? (await judgeAgain(current));
    first = null;
    await commit(each);
    return each;
  });
}
