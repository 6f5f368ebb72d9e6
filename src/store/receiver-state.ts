import { sql, type RawBuilder } from "kysely";
import { plainText, type ItemText, type OutboxItem } from "../alerts/notification.ts";
import { batches, paced } from "../lib/iterables.ts";
import { idsPerStatement, readStored, selectStored, touchIncidents } from "./incidents.ts";
import type { StoredIncident } from "./incidents.ts";
import { createRowReading, textIn } from "./row-reading.ts";
import { prepareUpsert, storableText } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

const keptMs = 90 * 24 * 60 * 60 * 1_000;

/** What a person did to an incident that is no acknowledgement, in words. */
export interface IncidentNote {
  readonly incidentId: string;
  /** UTC milliseconds. */
  readonly atMs: number;
  readonly author: string;
  readonly note: string;
}

/** An event that a receiver sent back. */
export interface ReceivedEvent {
  readonly receiver: string;
  readonly eventId: string;
  /** The id of the receiver's own incident. */
  readonly remoteId: string;
  /** What sandwatch calls it. Null: the event does not say. */
  readonly alert: string | null;
}

const upsertNotes = prepareUpsert("incident_notes", ["incident_id", "at_ms", "author", "note"]);
const upsertEvents = prepareUpsert("received_events", ["receiver", "event_id"]);

/** What came back from receivers. Each call that writes is one transaction. */
export function createReceiverEvents(kysely: Db, reader: Db) {
  return {
    async isHandled(receiver: string, eventId: string): Promise<boolean> {
      const row = await reader
        .selectFrom("received_events")
        .select("at_ms")
        .where("receiver", "=", receiver)
        .where("event_id", "=", eventId)
        .executeTakeFirst();
      return row !== undefined;
    },

    /** What sandwatch calls an incident of the receiver, as its latest event stated it. */
    async alertOf(receiver: string, remoteId: string): Promise<string | null> {
      const row = await reader
        .selectFrom("received_events")
        .select("alert")
        .where("receiver", "=", receiver)
        .where("remote_id", "=", remoteId)
        .where("alert", "is not", null)
        .orderBy("at_ms", "desc")
        .limit(1)
        .executeTakeFirst();
      return row?.alert ?? null;
    },

    /** Stores that an event was handled, with the notes it made. Also removes old events of the receiver. */
    handled: (
      { receiver, eventId, remoteId, alert }: ReceivedEvent,
      notes: readonly IncidentNote[],
      nowMs: number,
    ): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        const event = { receiver, event_id: eventId, remote_id: remoteId, alert, at_ms: nowMs };
        await upsertEvents(trx, [event]);
        await touchIncidents(
          trx,
          notes.map(({ incidentId }) => incidentId),
        );
        await upsertNotes(
          trx,
          notes.map(({ incidentId, atMs, author, note }) => ({
            incident_id: incidentId,
            at_ms: atMs,
            author: storableText(author),
            note: storableText(note),
          })),
        );
        await trx
          .deleteFrom("received_events")
          .where("receiver", "=", receiver)
          .where("at_ms", "<", nowMs - keptMs)
          .execute();
      }),

    /** In the order of their moments. */
    async notesOf(incidentIds: readonly string[]): Promise<readonly IncidentNote[]> {
      const found: IncidentNote[] = [];
      for await (const some of paced(batches(incidentIds, idsPerStatement))) {
        const rows = await reader
          .selectFrom("incident_notes")
          .select(["incident_id as incidentId", "at_ms as atMs", "author", "note"])
          .where("incident_id", "in", some)
          .orderBy("at_ms")
          .execute();
        found.push(...rows);
      }
      return found;
    },
  };
}

const upsertThreads = prepareUpsert("message_threads", ["receiver", "rule", "group_name"]);

/** A message about the firing incidents of a group, which later messages change and continue. */
export interface MessageThread {
  /** Identifies the group among those of its rule. */
  readonly group: string;
  /** What the receiver needs to find the message again, as text. */
  readonly message: string;
}

export type MessageThreads = ReturnType<typeof createMessageThreads>;

/** The messages that receivers changed and will change again. */
export function createMessageThreads(kysely: Db, reader: Db) {
  return {
    ofRule: (receiver: string, rule: string) =>
      reader
        .selectFrom("message_threads")
        .select(["group_name as group", "message"])
        .where("receiver", "=", receiver)
        .where("rule", "=", rule)
        .orderBy("group_name")
        .execute(),

    ofReceiver: (receiver: string) =>
      reader
        .selectFrom("message_threads")
        .select(["rule", "group_name as group", "message"])
        .where("receiver", "=", receiver)
        .execute(),

    /** Replaces the one of the same group. Also removes old ones of the receiver, whose groups were never resolved. */
    save: (
      receiver: string,
      rule: string,
      { group, message }: MessageThread,
      nowMs: number,
    ): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        await upsertThreads(trx, [{ receiver, rule, group_name: group, message, at_ms: nowMs }]);
        await trx
          .deleteFrom("message_threads")
          .where("receiver", "=", receiver)
          .where("at_ms", "<", nowMs - keptMs)
          .execute();
      }),

    async remove(receiver: string, rule: string, group: string): Promise<void> {
      await kysely
        .deleteFrom("message_threads")
        .where("receiver", "=", receiver)
        .where("rule", "=", rule)
        .where("group_name", "=", group)
        .execute();
    },
  };
}

export type NotifiedAlert = StoredIncident;

/** What a receiver that is notified of states, not of changes, needs of the store. */
export type NotifiedAlerts = ReturnType<typeof createNotifiedIncidents>;

/** There may be a hundred thousand incidents, and polls come in between. */
const incidentsAtOnce = 500;

/** What receivers were notified of; receivers that are notified of states declare what these mean. */
export function createNotifiedIncidents(reader: Db, reading = createRowReading()) {
  const readNotified = async (
    receiver: string,
    ids: readonly string[],
  ): Promise<readonly NotifiedAlert[]> => {
    const found: NotifiedAlert[] = [];
    for await (const some of paced(batches(ids, incidentsAtOnce))) {
      const rows = await selectStored(reader)
        .innerJoin("incident_receivers", "incident_receivers.incident_id", "incidents.id")
        .where("incident_receivers.receiver", "=", receiver)
        .where("incidents.id", "in", some)
        .where("incidents.phase", "<>", "pending")
        .execute();
      found.push(...rows.flatMap((row) => readStored(reading, row) ?? []));
    }
    return found;
  };

  return {
    /**
     * The incidents that the receiver was notified of and that are firing, or were resolved at or after a moment (UTC
     * milliseconds).
     *
     * @param about only these incidents and others of the same rules and subjects; the result may contain more
     */
    async notifiedTo(
      receiver: string,
      resolvedSinceMs: number,
      about: readonly string[] | "all",
    ): Promise<readonly NotifiedAlert[]> {
      const isOver = sql`phase = 'resolved' and resolved_at_ms >= ${resolvedSinceMs}`;
      const ids =
        about === "all"
          ? await selectIds(
              reader,
              sql`${isOver} union all select id from incidents where ${isFiring}`,
            )
          : await selectAlike(reader, resolvedSinceMs, about);
      return readNotified(receiver, ids);
    },

    /** The firing incidents of a rule that the receiver was notified of. */
    async firingOf(receiver: string, rule: string): Promise<readonly NotifiedAlert[]> {
      return readNotified(receiver, await selectIds(reader, sql`rule = ${rule} and ${isFiring}`));
    },

    /** By incident id. Without incidents whose notifications are not kept any more. */
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
          const texts = reading.read("outbox_items", row, ({ body }) => readTexts(body));
          if (texts) all.set(row.incident_id, texts);
        }
      }
      return all;
    },
  };
}

/** SQLite uses the index of open incidents only where the statement says that they are. */
const isFiring = sql`phase <> 'resolved' and phase = 'firing'`;

async function selectIds(reader: Db, condition: RawBuilder<unknown>): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select id from incidents where ${condition}
  `.execute(reader);
  return rows.map(({ id }) => id);
}

/** Only these incidents, and those that may be about the same: of one server or sandbox, or of neither. */
async function selectAlike(
  reader: Db,
  resolvedSinceMs: number,
  about: readonly string[],
): Promise<readonly string[]> {
  const isOver = sql`phase = 'resolved' and resolved_at_ms >= ${resolvedSinceMs}`;
  const over = sql`${isOver} and subject not in ('server', 'sandbox')`;
  const ids = new Set(await selectIds(reader, over));
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
