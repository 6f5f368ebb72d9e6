import type { CompiledQuery, Kysely, QueryResult } from "kysely";
import type { Tables } from "./tables.ts";

/**
 * A statement that is run again and again, built once. What stands in it for its parameters is
 * replaced by others in the same order.
 */
export function prepare(query: { compile(): CompiledQuery }) {
  const compiled = query.compile();
  return (db: Kysely<Tables>, parameters: readonly unknown[]): Promise<QueryResult<unknown>> =>
    db.executeQuery({ ...compiled, parameters });
}
