import { sql } from "kysely";
import type { Db } from "./tables.ts";

interface OutboxFigures {
  readonly receiver: string;
  /** Items that are in no notification yet. */
  readonly openItems: number;
  readonly pending: number;
  readonly dead: number;
  /** The earliest cause of what was not delivered yet, open items included. UTC milliseconds. */
  readonly oldestCausedAtMs: number | null;
}

/** UTC milliseconds; null: there is none. */
interface Waiting {
  readonly receiver: string;
  readonly oldestPendingMs: number | null;
  readonly oldestItemMs: number | null;
}

const mostUndelivered = 10_000;

/** Of a receiver that was not notified of an incident. Failing is 1 if an attempt failed, and else 0. */
interface Undelivered {
  readonly receiver: string;
  readonly incidentId: string;
  readonly failing: number;
}

export async function readFigures(reader: Db): Promise<readonly OutboxFigures[]> {
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
  `.execute(reader);
  return rows;
}

export async function readUndelivered(reader: Db): Promise<readonly Undelivered[]> {
  const { rows } = await sql<Undelivered>`
    select receiver, incident_id as "incidentId", max(failing) as "failing"
    from (
      select receiver, incident_id, 0 as failing
      from outbox_items where notification_seq is null
      union all
      select items.receiver, incident_id, case when attempts > 0 then 1 else 0 end
      from notifications
      join outbox_items as items on items.notification_seq = notifications.seq
      where state = 'pending'
      union all
      select items.receiver, incident_id, 1
      from notifications
      join outbox_items as items on items.notification_seq = notifications.seq
      where state = 'dead'
      limit ${mostUndelivered}
    ) as parts
    where exists (
      select 1 from incidents where incidents.id = incident_id and phase <> 'resolved'
    ) and not exists (
      select 1 from outbox_items as earlier
      join notifications on notifications.seq = earlier.notification_seq
      where earlier.incident_id = parts.incident_id and earlier.receiver = parts.receiver
        and state = 'delivered'
    )
    group by receiver, incident_id
  `.execute(reader);
  return rows;
}

export async function readWaiting(reader: Db): Promise<readonly Waiting[]> {
  const { rows } = await sql<Waiting>`
    select receiver, min(pending) as "oldestPendingMs", min(item) as "oldestItemMs"
    from (
      select receiver, min(created_at_ms) as pending, null as item
      from notifications where state = 'pending' group by receiver
      union all
      select receiver, null, min(caused_at_ms)
      from outbox_items where notification_seq is null group by receiver
    ) as parts
    group by receiver
  `.execute(reader);
  return rows;
}
