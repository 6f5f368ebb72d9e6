import { batches, paced } from "../lib/iterables.ts";
import { idsPerStatement } from "./incidents.ts";
import { prepareUpsert, storableText, takeSequence } from "./sql-helpers.ts";
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
        for await (const some of paced(batches(notes, idsPerStatement))) {
          // Pages that are open show them.
          const ids = some.map(({ incidentId }) => incidentId);
          const revision = await takeSequence(trx, 1);
          await trx.updateTable("incidents").set({ revision }).where("id", "in", ids).execute();
        }
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
          .selectAll()
          .where("incident_id", "in", some)
          .orderBy("at_ms")
          .execute();
        found.push(
          ...rows.map(({ incident_id: incidentId, at_ms: atMs, author, note }) => ({
            incidentId,
            atMs,
            author,
            note,
          })),
        );
      }
      return found;
    },
  };
}

const upsertThreads = prepareUpsert("message_threads", ["receiver", "rule", "group_name"]);

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

    /** Also removes old ones of the receiver, whose groups were never resolved. */
    save: (
      receiver: string,
      rule: string,
      { group, message }: { readonly group: string; readonly message: string },
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
