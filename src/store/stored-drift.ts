import type { Kysely, Selectable } from "kysely";
import { deviationProblems, kindOf } from "../fleet/deviation.ts";
import type { DriftRecord } from "../fleet/drift.ts";
import { operations } from "../fleet/model.ts";
import { prepareUpsert } from "./prepared.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import { storableText } from "./storable-text.ts";
import type { Tables } from "./tables.ts";

const upsertDrift = prepareUpsert(
  "drift",
  ["operation", "region", "field", "problem", "word"],
  ["example", "first_seen_at_ms"],
);

/** What is kept of how answers differ from the interface. Each call is one transaction. */
export function createStoredDrift(kysely: Kysely<Tables>, reading = createRowReading()) {
  return {
    async all(): Promise<readonly DriftRecord[]> {
      const rows = await kysely.selectFrom("drift").selectAll().execute();
      return reading.all("drift", rows, driftId, readRecord);
    },

    /** Keeps each as it is now, and nothing that was last seen before a moment. */
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

function driftId({ operation, region, field, problem }: Selectable<Tables["drift"]>): string {
  return [operation, region, field, problem].join(" ");
}

/** @throws when the row cannot be read */
function readRecord(row: Selectable<Tables["drift"]>): DriftRecord {
  return {
    operation: oneOf(operations, row.operation),
    region: row.region,
    field: row.field,
    problem: oneOf(deviationProblems, row.problem),
    example: row.example,
    count: row.count,
    firstSeenAtMs: row.first_seen_at_ms,
    lastSeenAtMs: row.last_seen_at_ms,
  };
}
