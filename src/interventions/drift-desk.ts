import { z } from "zod";
import { kindOf } from "../core/deviation.ts";
import { deviationProblems } from "../core/deviation.ts";
import type { DriftRecord } from "../core/drift-ledger.ts";
import { operations } from "../core/model.ts";
import { problemText } from "../drift/describe-drift.ts";
import { readRequest } from "./requests.ts";
import { timeText } from "./views.ts";

export const driftQuery = z.strictObject({});

export const driftView = z.object({
  drift: z
    .array(
      z.object({
        operation: z.enum(operations),
        /** `(answer)` for the answer as a whole. */
        field: z.string(),
        problem: z.enum(deviationProblems),
        /** The problem in words. */
        summary: z.string(),
        regions: z.array(z.string()).readonly(),
        /** How often it was seen: in each answer, as often as it is in it. */
        count: z.number(),
        first_seen_at: z.string(),
        last_seen_at: z.string(),
        /** The shape of the value that was seen first, or a new word in quotes. */
        example: z.string().nullable(),
      }),
    )
    .readonly(),
});
export type DriftView = z.output<typeof driftView>;

/** What people ask of how the service's answers differ from its interface. */
export interface DriftDesk {
  /** Latest seen for the first time first. */
  drift(query: z.input<typeof driftQuery>): Promise<DriftView>;
}

export function createDriftDesk(watch: {
  readonly records: () => readonly DriftRecord[];
}): DriftDesk {
  return {
    async drift(query) {
      readRequest(driftQuery, query);
      const kinds = Map.groupBy(watch.records(), (record) =>
        JSON.stringify([record.operation, kindOf(record)]),
      );
      const merged = [...kinds.values()].flatMap(merge);
      return {
        drift: merged
          .toSorted((a, b) => b.firstSeenAtMs - a.firstSeenAtMs)
          .map(({ regions, ...record }) => ({
            operation: record.operation,
            field: record.field,
            problem: record.problem,
            summary: problemText(record),
            regions,
            count: record.count,
            first_seen_at: timeText(record.firstSeenAtMs),
            last_seen_at: timeText(record.lastSeenAtMs),
            example: record.example,
          })),
      };
    },
  };
}

/** The records of one kind, of all regions. */
function merge(records: readonly DriftRecord[]) {
  const [first] = records.toSorted((a, b) => a.firstSeenAtMs - b.firstSeenAtMs);
  if (!first) return [];
  const regions = records.map(({ region }) => region).toSorted();
  const count = records.reduce((sum, record) => sum + record.count, 0);
  const lastSeenAtMs = Math.max(...records.map((record) => record.lastSeenAtMs));
  return [{ ...first, regions, count, lastSeenAtMs }];
}
