import type { Kysely, Transaction } from "kysely";
import type { Tables } from "./tables.ts";

/** Reads several tables as they were at one moment: polls may be committed meanwhile, also by another process. */
export function readConsistently<Value>(
  reader: Kysely<Tables>,
  read: (trx: Transaction<Tables>) => Promise<Value>,
): Promise<Value> {
  // SQLite isolates every transaction like this.
  return reader.transaction().setIsolationLevel("repeatable read").execute(read);
}
