import { sql } from "kysely";
import type { RawBuilder } from "kysely";

/** Whether a text begins with another one, as a range, so that an index of the column serves. */
export function beginsWith(column: string, text: string): RawBuilder<boolean> {
  const reference = sql.ref(column);
  return sql<boolean>`(${reference} >= ${text} and ${reference} < ${`${text}\u{10ffff}`})`;
}
