import { sql } from "kysely";
import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Incident } from "../alerts/incident.ts";
import { plainText, type ItemText, type OutboxItem } from "../alerts/notification.ts";
import type { Target } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import { readStored, selectStored } from "./incidents.ts";
import { createRowReading, textIn } from "./row-reading.ts";
import type { Db } from "./tables.ts";

interface NotifiedIncident {
  readonly target: Target | null;
  readonly incident: Incident;
  readonly acknowledgement: Acknowledgement | null;
}

/** There may be a hundred thousand incidents, and polls come in between. */
const incidentsAtOnce = 500;

/** What receivers were notified of; receivers that are notified of states declare what these mean. */
export function createNotifiedIncidents(reader: Db, reading = createRowReading()) {
  const readNotified = async (
    receiver: string,
    ids: readonly string[],
  ): Promise<readonly NotifiedIncident[]> => {
    const found: NotifiedIncident[] = [];
    for await (const some of paced(batches(ids, incidentsAtOnce))) {
      const rows = await selectStored(reader)
        .innerJoin("incident_receivers", "incident_receivers.incident_id", "incidents.id")
        .where("incident_receivers.receiver", "=", receiver)
        .where("incidents.id", "in", some)
        .where("incidents.phase", "<>", "pending")
        .execute();
      for (const row of rows) {
        const stored = readStored(reading, row);
        if (!stored) continue;
        found.push(stored);
      }
    }
    return found;
  };

  return {
    async notifiedTo(
      receiver: string,
      resolvedSinceMs: number,
      about: readonly string[] | "all",
    ): Promise<readonly NotifiedIncident[]> {
      const ids =
        about === "all"
          ? await selectAll(reader, resolvedSinceMs)
          : await selectAllAlike(reader, resolvedSinceMs, about);
      return readNotified(receiver, ids);
    },

    async firingOf(receiver: string, rule: string): Promise<readonly NotifiedIncident[]> {
      const { rows } = await sql<{ readonly id: string }>`
        select id from incidents
        where rule = ${rule} and phase <> 'resolved' and phase = 'firing'
      `.execute(reader);
      return readNotified(
        receiver,
        rows.map(({ id }) => id),
      );
    },

    async textsOf(
      receiver: string,
      incidentIds: readonly string[],
    ): Promise<ReadonlyMap<string, ItemText>> {
      const all = new Map<string, ItemText>();
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
          const texts = reading.read("outbox_items", row.seq, row, ({ body }) => readTexts(body));
          if (texts) all.set(row.incident_id, texts);
        }
      }
      return all;
    },
  };
}

/** Those that fire, or were resolved at or after a moment. */
async function selectAll(reader: Db, resolvedSinceMs: number): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select id from incidents where phase = 'resolved' and resolved_at_ms >= ${resolvedSinceMs}
    union all
    select id from incidents where phase <> 'resolved' and phase = 'firing'
  `.execute(reader);
  return rows.map(({ id }) => id);
}

/** Of those only these, and those that may be about the same: of one server or sandbox, or of neither. */
async function selectAllAlike(
  reader: Db,
  resolvedSinceMs: number,
  about: readonly string[],
): Promise<readonly string[]> {
  const over = await reader
    .selectFrom("incidents")
    .select("id")
    .where("phase", "=", sql.lit("resolved"))
    .where("resolved_at_ms", ">=", resolvedSinceMs)
    .where("subject", "not in", ["server", "sandbox"])
    .execute();
  const ids = new Set(over.map(({ id }) => id));
  for await (const some of paced(batches(about, incidentsAtOnce))) {
    const { rows } = await sql<{ readonly id: string }>`
      with about as (
        select subject, target_id, sandbox_id, server_id from incidents
        where id in (${sql.join(some)})
      )
      select alike.id from about join incidents as alike on alike.server_id = about.server_id
      where alike.phase = 'firing'
        or (alike.phase = 'resolved' and alike.resolved_at_ms >= ${resolvedSinceMs})
      union all
      select alike.id from about join incidents as alike on alike.sandbox_id = about.sandbox_id
      where about.subject = 'sandbox' and alike.subject = 'sandbox' and (alike.phase = 'firing'
        or (alike.phase = 'resolved' and alike.resolved_at_ms >= ${resolvedSinceMs}))
      union all
      select alike.id from about join incidents as alike on alike.target_id = about.target_id
      where about.subject not in ('server', 'sandbox') and alike.subject = about.subject
        and alike.phase <> 'resolved' and alike.phase = 'firing'
      union all
      select alike.id from about join incidents as alike on alike.subject = about.subject
      where about.target_id is null and alike.target_id is null
        and alike.phase <> 'resolved' and alike.phase = 'firing'
    `.execute(reader);
    for (const { id } of rows) ids.add(id);
  }
  return [...ids];
}

/** Items lack what is null. */
function readTexts(body: string): ItemText {
  const item: Partial<OutboxItem> = JSON.parse(body);
  const { detail, unmonitored, servers, summaryTemplate, runbookUrlTemplate } = {
    ...plainText,
    ...item,
  };
  const condition = textIn(item.condition);
  const share = item.share && { share: item.share };
  return { condition, detail, unmonitored, servers, summaryTemplate, runbookUrlTemplate, ...share };
}
