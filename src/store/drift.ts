import { deviationProblems, kindOf } from "../fleet/deviation.ts";
import type { DriftRecord } from "../fleet/drift.ts";
import { operations } from "../fleet/model.ts";
import { prepareUpsert, storableText } from "./sql-helpers.ts";
import { createRowReading, oneOf } from "./damaged-rows.ts";
import type { Db, Tables } from "./tables.ts";

const upsertDrift = prepareUpsert(
  "drift",
  ["operation", "region", "field", "problem", "word"],
  ["example", "first_seen_at_ms"],
);

/** How responses differ from the interface. Each call is one transaction. */
export function createStoredDrift(kysely: Db, reading = createRowReading()) {
  return {
    async all(): Promise<readonly DriftRecord[]> {
      const rows = await kysely
        .selectFrom("drift")
        .select(["operation", "region", "field", "problem", "example", "count"])
        .select(["first_seen_at_ms as firstSeenAtMs", "last_seen_at_ms as lastSeenAtMs"])
        .execute();
      return reading.all(
        "drift",
        rows,
        ({ operation, region, field, problem }) => [operation, region, field, problem].join(" "),
        (row) => ({
          ...row,
          operation: oneOf(operations, row.operation),
          problem: oneOf(deviationProblems, row.problem),
        }),
      );
    },

    /** Keeps each as it is now, and nothing that was last observed before a moment. */
    async keep(records: readonly DriftRecord[], forgetBeforeMs: number): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        await upsertDrift(trx, records.map(toRow));
        await trx.deleteFrom("drift").where("last_seen_at_ms", "<", forgetBeforeMs).execute();
      });
    },
  };
}

function toRow(record: DriftRecord): Tables["drift"] {
  const [field, problem, word] = kindOf(record);
  return {
    operation: record.operation,
    region: record.region,
    field: storableText(field),
    problem,
    word: storableText(word ?? ""),
    example: storableText(record.example),
    count: record.count,
    first_seen_at_ms: record.firstSeenAtMs,
    last_seen_at_ms: record.lastSeenAtMs,
  };
}
