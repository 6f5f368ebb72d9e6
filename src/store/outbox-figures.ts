import { sql, type Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/** How things stand with one receiver, configured or not. */
export interface OutboxFigures {
  readonly receiver: string;
  /** Items that no notification tells yet. */
  readonly openItems: number;
  readonly pending: number;
  readonly dead: number;
  /** The earliest cause of what was not told yet, open items included. UTC milliseconds. */
  readonly oldestCausedAtMs: number | null;
}

/** For the metrics: each part is answered from an index alone. A receiver with nothing is left out. */
export async function selectFigures(kysely: Kysely<Tables>): Promise<readonly OutboxFigures[]> {
  const { rows } = await sql<OutboxFigures>`
    select
      receiver,
      sum(open) as "openItems",
      sum(pending) as "pending",
      sum(dead) as "dead",
      min(caused) as "oldestCausedAtMs"
    from (
      select receiver, count(*) as open, 0 as pending, 0 as dead, min(caused_at_ms) as caused
      from outbox_items where notification_seq is null group by receiver
      union all
      select receiver, 0, count(*), 0, min(caused_at_ms)
      from notifications where state = 'pending' group by receiver
      union all
      select receiver, 0, 0, count(*), null
      from notifications where state = 'dead' group by receiver
    ) as parts
    group by receiver
    order by receiver
  `.execute(kysely);
  return rows;
}
