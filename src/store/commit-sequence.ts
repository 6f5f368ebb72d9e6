import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/**
 * Takes the next numbers of the store's sequence, within the transaction that uses them and as late in it as can be:
 * with several writers they wait for one another from here to their commit, so numbers grow in the order of commits.
 *
 * @returns the last of them
 */
export async function takeSequence(trx: Kysely<Tables>, count: number): Promise<number> {
  const { value } = await trx
    .updateTable("commit_sequence")
    .set(({ eb }) => ({ value: eb("value", "+", count) }))
    .returning("value")
    .executeTakeFirstOrThrow();
  return value;
}

/** The last number that was committed. */
export async function lastSequence(reader: Kysely<Tables>): Promise<number> {
  const { value } = await reader
    .selectFrom("commit_sequence")
    .select("value")
    .executeTakeFirstOrThrow();
  return value;
}
