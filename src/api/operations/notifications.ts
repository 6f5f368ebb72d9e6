import { z } from "zod";
import { RefusedError } from "../../lib/refused-error.ts";
import { notificationStates, type DeadLetters } from "../../store/notifications.ts";
import type { Needs } from "../context.ts";
import { limitField, listed, listOfWords, nextField, notes, nullableText } from "../fields.ts";
import { nullableTime, pageOf, previousNext, time } from "../fields.ts";
import { unknownNames } from "../match-notes.ts";
import { defineAction, defineQuery } from "../operation.ts";
import { toView } from "../view-fields.ts";

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

const seqOf = (allowed: string) => z.coerce.number(allowed).int(allowed).min(0, allowed);

export const listNotifications = defineQuery({
  name: "listNotifications",
  path: "/notifications",
  summary: "Notifications, latest first",
  request: z.strictObject({
    state: listOfWords(notificationStates),
    receiver: z.string().min(1).optional(),
    limit: limitField,
    before: seqOf(previousNext).optional(),
  }),
  response: z.object({ notifications: listed(notificationView), next: nextField, notes }),
  async handle(
    { store, receivers }: Needs<"store" | "receivers">,
    { state, receiver, limit, before },
  ) {
    const found = await store.notifications.list({
      ...(state.length > 0 && { states: state }),
      ...(receiver !== undefined && { receiver }),
      ...(before !== undefined && { before }),
      limit: limit + 1,
    });
    const { page, next } = pageOf(found, limit, ({ seq }) => String(seq));
    const missing = found.length === 0 && receiver !== undefined ? [receiver] : [];
    return {
      notifications: page.map(toView),
      next,
      notes: unknownNames("receiver", missing, receivers),
    };
  },
});

const detailView = notificationView.extend({
  attempt_list: listed(
    z.object({
      at: time,
      reason: nullableText.describe("Null: the receiver accepted it"),
      detail: nullableText.describe("Why it failed, or what of it the receiver did not get"),
    }),
  ).describe("The attempts that were kept, oldest first"),
});
export type NotificationDetailView = z.output<typeof detailView>;

export const showNotification = defineQuery({
  name: "showNotification",
  path: "/notifications/{id}",
  summary: "One notification, with its attempts",
  request: z.strictObject({ id: seqOf("a notification's number, as the list has it") }),
  response: detailView,
  refusals: [404],
  async handle({ store }: Needs<"store">, { id: seq }) {
    const record = await store.notifications.find(seq);
    if (!record) {
      const message = `There is no notification ${seq}, it was deleted, or its row cannot be read. List notifications to see their numbers.`;
      throw new RefusedError("not_found", message);
    }
    const attempts = await store.notifications.attempts([seq]);
    return {
      ...toView(record),
      attempt_list: attempts.map(({ atMs, reason, detail }) => toView({ atMs, reason, detail })),
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
type DeadLetterContext = Needs<"store" | "clock" | "commits" | "receivers">;

const countView = z.object({ count: z.number(), notes });

export const replayNotifications = defineAction({
  name: "replayNotifications",
  path: "/notifications/replay",
  summary: "Delivers dead letters again",
  request: selection,
  response: countView,
  async handle(context: DeadLetterContext & Needs<"retryTimes">, which) {
    const { store, clock, commits, retryTimes } = context;
    const count = await commits.act({
      atMs: clock.now().utcMs,
      commit: () => store.notifications.replay(which, retryTimes),
      lines(replayed) {
        const fields = { event: "notifications.replayed", count: replayed };
        return [{ level: "info", fields, msg: `${replayed} notifications are sent again` }];
      },
    });
    return { count, notes: selectionNotes(context, which, count) };
  },
});

export const discardNotifications = defineAction({
  name: "discardNotifications",
  path: "/notifications/discard",
  summary: "Discards dead letters",
  request: selection,
  response: countView,
  async handle(context: DeadLetterContext, which) {
    const { store, clock, commits } = context;
    const atMs = clock.now().utcMs;
    const count = await commits.act({
      atMs,
      commit: () => store.notifications.discard(which, atMs),
      lines(discarded) {
        const fields = { event: "notifications.discarded", count: discarded };
        return [{ level: "info", fields, msg: `${discarded} notifications were discarded` }];
      },
    });
    return { count, notes: selectionNotes(context, which, count) };
  },
});

function selectionNotes({ receivers }: Needs<"receivers">, which: DeadLetters, count: number) {
  if ("receiver" in which) {
    return unknownNames("receiver", count === 0 ? [which.receiver] : [], receivers);
  }
  const others = new Set(which.seqs).size - count;
  return others === 0 ? [] : [`numbers without a dead letter: ${others}`];
}
