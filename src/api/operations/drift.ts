import { z } from "zod";
import { deviationProblems, kindOf, problemText } from "../../fleet/deviation.ts";
import type { DriftRecord } from "../../fleet/drift.ts";
import { operations } from "../../fleet/model.ts";
import type { Needs } from "../context.ts";
import { listed, nullableText, texts, time } from "../fields.ts";
import { defineQuery } from "../operation.ts";
import { toView } from "../view-fields.ts";

const deviationView = z.object({
  operation: z.enum(operations),
  field: z.string().describe("`(answer)`: the response as a whole"),
  problem: z.enum(deviationProblems),
  summary: z.string().describe("The problem in words"),
  regions: texts,
  count: z.number().describe("How often it occurred. One response may count several times"),
  first_seen_at: time,
  last_seen_at: time,
  example: nullableText.describe("The shape of the first such value, or a new word in quotes"),
});

export const listDrift = defineQuery({
  name: "listDrift",
  path: "/drift",
  summary: "How the service's responses deviate from its interface, newest deviation first",
  request: z.strictObject({}),
  response: z.object({ drift: listed(deviationView) }),
  async handle({ drift }: Needs<"drift">) {
    const kinds = Map.groupBy(await drift.records(), (record) =>
      JSON.stringify([record.operation, kindOf(record)]),
    );
    const merged = [...kinds.values()].flatMap(mergeRegions);
    merged.sort((a, b) => b.firstSeenAtMs - a.firstSeenAtMs);
    return { drift: merged.map(toView) };
  },
});

/** The records of one kind of deviation, one per region, as one. */
function mergeRegions(records: readonly DriftRecord[]) {
  const [first] = records.toSorted((a, b) => a.firstSeenAtMs - b.firstSeenAtMs);
  if (!first) return [];
  const { operation, field, problem, firstSeenAtMs, example } = first;
  const summary = problemText(first);
  const regions = records.map(({ region }) => region).toSorted();
  const count = records.reduce((sum, record) => sum + record.count, 0);
  const lastSeenAtMs = Math.max(...records.map((record) => record.lastSeenAtMs));
  const times = { firstSeenAtMs, lastSeenAtMs };
  return [{ operation, field, problem, summary, regions, count, ...times, example }];
}
