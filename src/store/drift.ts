import { sql } from "kysely";
import { deviationProblems, kindOf } from "../fleet/deviation.ts";
import type { DriftRecord } from "../fleet/drift.ts";
import { operations } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import { rowsPerInsert, storableText } from "./sql-helpers.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import type { Db, Tables } from "./tables.ts";

/** How responses differ from the interface. Each call is one transaction. */
export function createStoredDrift(kysely: Db, reader = kysely, reading = createRowReading()) {
  return {
    async all(): Promise<readonly DriftRecord[]> {
      const rows = await reader
        .selectFrom("drift")
        .select(["operation", "region", "field", "problem", "example", "count"])
        .select(["first_seen_at_ms as firstSeenAtMs", "last_seen_at_ms as lastSeenAtMs"])
        .execute();
      return reading.all("drift", rows, (row) => ({
        ...row,
        operation: oneOf(operations, row.operation),
        problem: oneOf(deviationProblems, row.problem),
      }));
    },

    /**
     * Adds what was observed, and forgets what was last observed before a moment.
     *
     * @param observed its counts are added to those that are stored
     */
    async keep(observed: readonly DriftRecord[], forgetBeforeMs: number): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        for await (const some of paced(batches(observed.map(toRow), rowsPerInsert))) {
          await trx
            .insertInto("drift")
            .values(some)
            .onConflict((conflict) =>
              conflict.columns(["operation", "region", "field", "problem", "word"]).doUpdateSet({
                count: sql`drift.count + excluded.count`,
                last_seen_at_ms: sql`case when drift.last_seen_at_ms > excluded.last_seen_at_ms
                  then drift.last_seen_at_ms else excluded.last_seen_at_ms end`,
              }),
            )
            .execute();
        }
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
