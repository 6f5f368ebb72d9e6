import { z } from "zod";
import { RefusedError } from "../../lib/refusal.ts";
import { notificationStates } from "../../store/notifications.ts";
import type { DeadLetters, NotificationRecord } from "../../store/notifications.ts";
import { unreadableNotes } from "../../store/row-reading.ts";
import type { StoreContext } from "../context.ts";
import * as fields from "../fields.ts";
import { notes, nullableText, nullableTime, time, timeText } from "../fields.ts";
import { receiverNotes } from "../name-notes.ts";
import { defineOperation } from "../operation.ts";

export const notificationView = z.object({
  seq: z.number(),
  id: z.string(),
  receiver: z.string(),
  state: z.enum(notificationStates),
  type: z.string(),
  rule: z.string(),
  severity: z.string(),
  summary: z.string(),
  caused_at: time,
  created_at: time,
  attempts: z.number(),
  last_reason: nullableText,
  settled_at: nullableTime,
});
export type NotificationView = z.output<typeof notificationView>;

const { previousNext } = fields;

export const listNotifications = defineOperation({
  name: "listNotifications",
  method: "GET",
  path: "/notifications",
  summary: "Notifications, latest first",
  request: z.strictObject({
    state: fields.listOf(z.enum(notificationStates, notificationStates.join(", "))),
    receiver: z.string().min(1).optional(),
    limit: fields.limit,
    before: z.coerce.number(previousNext).int(previousNext).min(0, previousNext).optional(),
  }),
  response: z.object({
    notifications: z.array(notificationView).readonly(),
    next: nullableText,
    notes,
  }),
  async handle(context: StoreContext, { state, receiver, limit, before }) {
    const { store } = context;
    const found = await store.notifications.list({
      ...(state.length > 0 && { states: state }),
      ...(receiver !== undefined && { receiver }),
      ...(before !== undefined && { before }),
      limit: limit + 1,
    });
    const page = found.slice(0, limit);
    const next = found.length > limit ? page.at(-1)?.seq : undefined;
    const isUnknown = found.length === 0 && receiver !== undefined;
    return {
      notifications: page.map(viewNotification),
      next: next?.toString() ?? null,
      notes: [
        ...(isUnknown ? receiverNotes(context, receiver) : []),
        ...unreadableNotes(store.unreadable, ["notifications"]),
      ],
    };
  },
});

const detailView = notificationView.extend({
  /** The attempts that were kept, oldest first. */
  attempt_list: z
    .array(
      z.object({
        at: time,
        /** Null, like the detail: the receiver accepted it. */
        reason: nullableText,
        detail: nullableText,
      }),
    )
    .readonly(),
});
export type NotificationDetailView = z.output<typeof detailView>;

const seqAllowed = "a notification's number, as the list has it";

export const showNotification = defineOperation({
  name: "showNotification",
  method: "GET",
  path: "/notifications/{id}",
  summary: "One notification, with its attempts",
  request: z.strictObject({
    id: z.coerce.number(seqAllowed).int(seqAllowed).min(0, seqAllowed),
  }),
  response: detailView,
  refusals: [404, 409],
  async handle({ store }: StoreContext, { id: seq }) {
    const record = await store.notifications.find(seq);
    if (!record) {
      throw new RefusedError(
        "not_found",
        `There is no notification ${seq}, or not any more. List them for their numbers.`,
      );
    }
    if (record === "unreadable") {
      throw new RefusedError(
        "conflict",
        `Notification ${seq} cannot be read: its row in the store is damaged. Discard it by its number once it is dead.`,
      );
    }
    const attempts = await store.notifications.attempts([seq]);
    return {
      ...viewNotification(record),
      attempt_list: attempts.map(({ atMs, reason, detail }) => ({
        at: timeText(atMs),
        reason,
        detail,
      })),
    };
  },
});

const selection = z.union(
  [
    z.strictObject({ seqs: z.array(z.int().min(0)).min(1).max(10_000) }),
    z.strictObject({ receiver: z.string().min(1) }),
  ],
  'either { "seqs": [1, 2] } or { "receiver": "NAME" }',
);
const countView = z.object({ count: z.number(), notes });

export const replayNotifications = defineOperation({
  name: "replayNotifications",
  method: "POST",
  path: "/notifications/replay",
  summary: "Delivers dead letters again",
  request: selection,
  response: countView,
  async handle(context: StoreContext, which) {
    const { store, log } = context;
    const count = await store.notifications.replay(which, context.retryTimes);
    if (count > 0) context.onOutbox();
    log.info({ event: "notifications.replayed", count }, `${count} notifications are sent again`);
    return { count, notes: selectionNotes(context, which, count) };
  },
});

export const discardNotifications = defineOperation({
  name: "discardNotifications",
  method: "POST",
  path: "/notifications/discard",
  summary: "Discards dead letters",
  request: selection,
  response: countView,
  async handle(context: StoreContext, which) {
    const { store, clock, log } = context;
    const count = await store.notifications.discard(which, clock.now().utcMs);
    log.info({ event: "notifications.discarded", count }, `${count} notifications were discarded`);
    return { count, notes: selectionNotes(context, which, count) };
  },
});

function selectionNotes(
  context: StoreContext,
  which: DeadLetters,
  count: number,
): readonly string[] {
  if (count === 0 && "receiver" in which) return receiverNotes(context, which.receiver);
  const others = "seqs" in which ? new Set(which.seqs).size - count : 0;
  if (others === 0) return [];
  return [`${others} of the numbers ${others === 1 ? "is" : "are"} of no dead letter`];
}

function viewNotification(record: NotificationRecord): NotificationView {
  return {
    seq: record.seq,
    id: record.id,
    receiver: record.receiver,
    state: record.state,
    type: record.type,
    rule: record.rule,
    severity: record.severity,
    summary: record.summary,
    caused_at: timeText(record.causedAtMs),
    created_at: timeText(record.createdAtMs),
    attempts: record.attempts,
    last_reason: record.lastReason,
    settled_at: timeText(record.settledAtMs),
  };
}
