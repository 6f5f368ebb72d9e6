import { sql, type Kysely } from "kysely";
import type { Incident } from "../alerts/incident.ts";
import type { Target } from "../fleet/model.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import { batches, paced } from "../lib/paced.ts";
import { readIncidents, selectJoinedIncidents, targetOf } from "./incident-rows.ts";
import { createRowReading, textIn } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

export interface NotifiedIncidentRow {
  readonly target: Target | null;
  readonly incident: Incident;
  readonly acknowledgedBy: string | null;
}

type Words = Pick<OutboxItem, "condition" | "summaryTemplate" | "runbookUrlTemplate">;

/** So many are read at once: there may be a hundred thousand, and polls come in between. */
const incidentsAtOnce = 500;

/** What was told of incidents, with the meaning that delivery declares. */
export function createNotifiedIncidents(reader: Kysely<Tables>, reading = createRowReading()) {
  const selectSome = (ids: readonly string[]) =>
    selectJoinedIncidents(reader)
      .where("incidents.id", "in", ids)
      .where("incidents.phase", "<>", "pending")
      .execute();

  return {
    async notifiedTo(
      receiver: string,
      resolvedSinceMs: number,
      about: readonly string[] | "all",
    ): Promise<readonly NotifiedIncidentRow[]> {
      const ids =
        about === "all"
          ? await selectAll(reader, resolvedSinceMs)
          : await selectAllAlike(reader, resolvedSinceMs, about);
      const found: NotifiedIncidentRow[] = [];
      for await (const some of paced(batches(ids, incidentsAtOnce))) {
        for (const row of await selectSome(some)) {
          const [incident] = readIncidents(reading, [row]);
          if (!incident?.receivers.includes(receiver)) continue;
          found.push({ target: targetOf(row), incident, acknowledgedBy: row.ack_author });
        }
      }
      return found;
    },

    async textsOf(
      receiver: string,
      incidentIds: readonly string[],
    ): Promise<ReadonlyMap<string, Words>> {
      const all = new Map<string, Words>();
      for await (const some of paced(batches(incidentIds, incidentsAtOnce))) {
        const latest = reader
          .selectFrom("outbox_items")
          .select(({ fn }) => fn.max("seq").as("seq"))
          .where("receiver", "=", receiver)
          .where("incident_id", "in", some)
          .groupBy("incident_id");
        const rows = await reader
          .selectFrom("outbox_items")
          .select(["seq", "incident_id", "body"])
          .where("seq", "in", latest)
          .execute();
        for (const row of rows) {
          const texts = reading.read("outbox_items", row.seq, row, ({ body }) => readWords(body));
          if (texts) all.set(row.incident_id, texts);
        }
      }
      return all;
    },

    /** What each receiver waits for: when its oldest notification was made, its oldest item caused. */
    async waiting(): Promise<readonly WaitingRow[]> {
      const { rows } = await sql<WaitingRow>`
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
    },
  };
}

/** Those that fire, or were resolved at or after a moment. */
async function selectAll(
  reader: Kysely<Tables>,
  resolvedSinceMs: number,
): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select id from incidents where phase = 'resolved' and resolved_at_ms >= ${resolvedSinceMs}
    union all
    select id from incidents where phase <> 'resolved' and phase = 'firing'
  `.execute(reader);
  return rows.map(({ id }) => id);
}

/** Of those only these, and whichever may be about the same: of one server, or not of a server. */
async function selectAllAlike(
  reader: Kysely<Tables>,
  resolvedSinceMs: number,
  about: readonly string[],
): Promise<readonly string[]> {
  const over = await reader
    .selectFrom("incidents")
    .select("id")
    .where("phase", "=", sql.lit("resolved"))
    .where("resolved_at_ms", ">=", resolvedSinceMs)
    .where("subject", "<>", "server")
    .execute();
  const ids = new Set(over.map(({ id }) => id));
  for await (const some of paced(batches(about, incidentsAtOnce))) {
    for (const id of await selectAlike(reader, resolvedSinceMs, some)) ids.add(id);
  }
  return [...ids];
}

async function selectAlike(
  reader: Kysely<Tables>,
  resolvedSinceMs: number,
  about: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    with about as (
      select subject, target_id, server_id from incidents
      where id in (${sql.join(about)})
    )
    select alike.id from about join incidents as alike on alike.server_id = about.server_id
    where alike.phase = 'firing'
      or (alike.phase = 'resolved' and alike.resolved_at_ms >= ${resolvedSinceMs})
    union all
    select alike.id from about join incidents as alike on alike.target_id = about.target_id
    where about.subject <> 'server' and alike.subject = about.subject
      and alike.phase <> 'resolved' and alike.phase = 'firing'
    union all
    select alike.id from about join incidents as alike on alike.subject = about.subject
    where about.target_id is null and alike.target_id is null
      and alike.phase <> 'resolved' and alike.phase = 'firing'
  `.execute(reader);
  return rows.map(({ id }) => id);
}

/** UTC milliseconds; null: there is none. */
export interface WaitingRow {
  readonly receiver: string;
  readonly oldestPendingMs: number | null;
  readonly oldestItemMs: number | null;
}

/** Items lack what is null. */
function readWords(body: string): Words {
  const item: Words & Partial<OutboxItem> = JSON.parse(body);
  return {
    condition: textIn(item.condition),
    summaryTemplate: item.summaryTemplate ?? null,
    runbookUrlTemplate: item.runbookUrlTemplate ?? null,
  };
}
