import type { Insertable, Selectable } from "kysely";
import type { TargetProgress } from "../alerts/target-state.ts";
import { textIn } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** What every poll writes of the target's row. */
export type ProgressColumns = Omit<
  Insertable<Tables["targets"]>,
  "id" | "region" | "key" | "version" | "open_bucket"
>;

export function progressToRow(progress: TargetProgress): ProgressColumns {
  return {
    attempted_polls: progress.attempted.polls,
    attempted_ms: progress.attempted.ms,
    observed_polls: progress.observed.polls,
    observed_ms: progress.observed.ms,
    failures_in_a_row: progress.failuresInARow,
    last_failure: progress.lastFailure,
    last_poll_at_ms: progress.lastPollAtMs,
    last_success_at_ms: progress.lastSuccessAtMs,
    last_complete: Number(progress.lastComplete),
  };
}

export function progressFromRow(row: Selectable<Tables["targets"]>): TargetProgress {
  return {
    attempted: { polls: row.attempted_polls, ms: row.attempted_ms },
    observed: { polls: row.observed_polls, ms: row.observed_ms },
    failuresInARow: row.failures_in_a_row,
    lastFailure: row.last_failure,
    lastPollAtMs: row.last_poll_at_ms,
    lastSuccessAtMs: row.last_success_at_ms,
    lastComplete: row.last_complete === 1,
  };
}

/** @throws when it is no JSON array of strings */
export function readNames(json: string): readonly string[] {
  const value: unknown = JSON.parse(json);
  if (Array.isArray(value)) return value.map(textIn);
  throw new TypeError("a stored list is none");
}
