import { z } from "zod";
import { deviationProblems, kindOf, problemText } from "../../fleet/deviation.ts";
import type { DriftRecord } from "../../fleet/drift.ts";
import { operations } from "../../fleet/model.ts";
import type { StoreContext } from "../context.ts";
import { nullableText, texts, timeText } from "../fields.ts";
import { defineOperation } from "../operation.ts";

const deviationView = z.object({
  operation: z.enum(operations),
  /** `(answer)` for the response as a whole. */
  field: z.string(),
  problem: z.enum(deviationProblems),
  /** The problem in words. */
  summary: z.string(),
  regions: texts,
  /** How often it occurred. One response may count several times. */
  count: z.number(),
  first_seen_at: z.string(),
  last_seen_at: z.string(),
  /** The shape of the first such value, or a new word in quotes. */
  example: nullableText,
});
export type DriftView = z.output<typeof deviationView>;

export const listDrift = defineOperation({
  name: "listDrift",
  method: "GET",
  path: "/drift",
  summary: "How the service's responses deviate from its interface, newest deviation first",
  request: z.strictObject({}),
  response: z.object({ drift: z.array(deviationView).readonly() }),
  handle({ drift }: StoreContext) {
    const kinds = Map.groupBy(drift.records(), (record) =>
      JSON.stringify([record.operation, kindOf(record)]),
    );
    const merged = [...kinds.values()].flatMap(mergeRegions);
    merged.sort((a, b) => b.firstSeenAtMs - a.firstSeenAtMs);
    return Promise.resolve({ drift: merged.map(viewDeviation) });
  },
});

/** The records of one kind of deviation, one per region, as one. */
function mergeRegions(records: readonly DriftRecord[]) {
  const [first] = records.toSorted((a, b) => a.firstSeenAtMs - b.firstSeenAtMs);
  if (!first) return [];
  const regions = records.map(({ region }) => region).toSorted();
  const count = records.reduce((sum, record) => sum + record.count, 0);
  const lastSeenAtMs = Math.max(...records.map((record) => record.lastSeenAtMs));
  return [{ ...first, regions, count, lastSeenAtMs }];
}

function viewDeviation(record: ReturnType<typeof mergeRegions>[number]): DriftView {
  return {
    operation: record.operation,
    field: record.field,
    problem: record.problem,
    summary: problemText(record),
    regions: record.regions,
    count: record.count,
    first_seen_at: timeText(record.firstSeenAtMs),
    last_seen_at: timeText(record.lastSeenAtMs),
    example: record.example,
  };
}
