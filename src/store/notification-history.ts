import type { Kysely } from "kysely";
import { incidentMessages } from "../alerts/notification.ts";
import type { IncidentMessage } from "../alerts/notification.ts";
import { batches } from "../lib/paced.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** A message about an incident: an item that a notification tells, or none tells yet. */
export interface StoredNotificationItem {
  readonly incidentId: string;
  readonly receiver: string;
  readonly type: IncidentMessage;
  /** When the poll that saw the cause ended. UTC milliseconds, like every time here. */
  readonly causedAtMs: number;
  /** Null: it waits to be made part of one. */
  readonly notification: ItemNotification | null;
}

export interface ItemNotification {
  readonly seq: number;
  readonly id: string;
  readonly state: Tables["notifications"]["state"];
  readonly createdAtMs: number;
  readonly attempts: number;
  readonly lastReason: string | null;
  readonly settledAtMs: number | null;
}

export interface StoredAttempt {
  readonly notificationSeq: number;
  readonly atMs: number;
  /** Null: it was delivered. */
  readonly reason: string | null;
  readonly detail: string | null;
}

const idsAtOnce = 100;

/** Who was told what of incidents, read beside whatever is being written. */
export function createNotificationHistory(reader: Kysely<Tables>, reading = createRowReading()) {
  return {
    /** In the order of telling. */
    async about(incidentIds: readonly string[]): Promise<readonly StoredNotificationItem[]> {
      const items: (StoredNotificationItem & { readonly seq: number })[] = [];
      for (const ids of batches(incidentIds, idsAtOnce)) {
        const rows = await reader
          .selectFrom("outbox_items")
          .leftJoin("notifications", "notifications.seq", "outbox_items.notification_seq")
          .select([
            "outbox_items.seq",
            "outbox_items.incident_id",
            "outbox_items.receiver",
            "outbox_items.type",
            "outbox_items.caused_at_ms",
            "notifications.seq as notification_seq",
            "notifications.id",
            "notifications.state",
            "notifications.created_at_ms",
            "notifications.attempts",
            "notifications.last_reason",
            "notifications.settled_at_ms",
          ])
          .where("outbox_items.incident_id", "in", ids)
          .execute();
        items.push(
          ...reading.all(
            "outbox_items",
            rows,
            ({ seq }) => seq,
            (row) => ({
              seq: row.seq,
              incidentId: row.incident_id,
              receiver: row.receiver,
              type: oneOf(incidentMessages, row.type),
              causedAtMs: row.caused_at_ms,
              notification:
                row.notification_seq === null || row.id === null || row.state === null
                  ? null
                  : {
                      seq: row.notification_seq,
                      id: row.id,
                      state: row.state,
                      createdAtMs: row.created_at_ms ?? 0,
                      attempts: row.attempts ?? 0,
                      lastReason: row.last_reason,
                      settledAtMs: row.settled_at_ms,
                    },
            }),
          ),
        );
      }
      return items.toSorted((a, b) => a.seq - b.seq);
    },

    /** Oldest first. Of very many, those between the first ten and the last ten are not kept. */
    async attempts(notificationSeqs: readonly number[]): Promise<readonly StoredAttempt[]> {
      const attempts: StoredAttempt[] = [];
      for (const seqs of batches(notificationSeqs, idsAtOnce)) {
        const rows = await reader
          .selectFrom("delivery_attempts")
          .selectAll()
          .where("notification_seq", "in", seqs)
          .orderBy("id")
          .execute();
        attempts.push(
          ...reading.all(
            "delivery_attempts",
            rows,
            ({ id }) => id,
            ({ notification_seq: notificationSeq, at_ms: atMs, reason, detail }) => ({
              notificationSeq,
              atMs,
              reason,
              detail,
            }),
          ),
        );
      }
      return attempts;
    },
  };
}
