import { sql, type Kysely } from "kysely";
import type { Incident } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import type { OutboxItem } from "../core/notification.ts";
import { batches, paced } from "../platform/paced.ts";
import { readIncidents } from "./incident-rows.ts";
import { selectJoinedIncidents, targetOf } from "./joined-incidents.ts";
import { createRowReading, textIn } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

export interface ToldIncidentRow {
  readonly target: Target | null;
  readonly incident: Incident;
  readonly acknowledgedBy: string | null;
}

interface WordsRow {
  readonly seq: number;
  readonly incident_id: string;
  readonly body: string;
}

type Words = Pick<OutboxItem, "condition" | "summaryTemplate" | "runbookUrlTemplate">;

/** So many are read at once: there may be a hundred thousand, and polls come in between. */
const incidentsAtOnce = 500;

/** What was told of incidents, with the meaning that delivery declares. */
export function createToldIncidents(reader: Kysely<Tables>, reading = createRowReading()) {
  const selectSome = (receiver: string, ids: readonly string[]) =>
    selectJoinedIncidents(reader)
      .where(sql<boolean>`incidents.id in (select value from json_each(${JSON.stringify(ids)}))`)
      .where("incidents.phase", "<>", "pending")
      .where(
        sql<boolean>`case when json_valid(incidents.receivers) then
          exists (select 1 from json_each(incidents.receivers) where value = ${receiver}) end`,
      )
      .execute();

  return {
    async toldTo(
      receiver: string,
      resolvedSinceMs: number,
      about: readonly string[] | "all",
    ): Promise<readonly ToldIncidentRow[]> {
      const ids =
        about === "all"
          ? await selectAll(reader, resolvedSinceMs)
          : await selectAlike(reader, resolvedSinceMs, about);
      const told: ToldIncidentRow[] = [];
      for await (const some of paced(batches(ids, incidentsAtOnce))) {
        for (const row of await selectSome(receiver, some)) {
          const [incident] = readIncidents(reading, [row]);
          if (!incident) continue;
          told.push({ target: targetOf(row), incident, acknowledgedBy: row.ack_author });
        }
      }
      return told;
    },

    async wordsOf(
      receiver: string,
      incidentIds: readonly string[],
    ): Promise<ReadonlyMap<string, Words>> {
      const { rows } = await sql<WordsRow>`
        select seq, incident_id, body from outbox_items where seq in (
          select max(seq) from outbox_items
          where receiver = ${receiver}
            and incident_id in (select value from json_each(${JSON.stringify(incidentIds)}))
          group by incident_id
        )
      `.execute(reader);
      return new Map(
        rows.flatMap(({ seq, incident_id: id, body }) => {
          const words = reading.read("outbox_items", seq, () => readWords(body));
          return words ? [[id, words]] : [];
        }),
      );
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
        )
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
async function selectAlike(
  reader: Kysely<Tables>,
  resolvedSinceMs: number,
  about: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    with about as (
      select subject, target_id, server_id from incidents
      where id in (select value from json_each(${JSON.stringify(about)}))
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
    union all
    select id from incidents
    where phase = 'resolved' and resolved_at_ms >= ${resolvedSinceMs} and subject <> 'server'
  `.execute(reader);
  return [...new Set(rows.map(({ id }) => id))];
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
