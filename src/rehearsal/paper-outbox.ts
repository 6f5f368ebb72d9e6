import type { MessageConfig } from "../config/receivers/common.ts";
import { composeMessages } from "../core/compose-messages.ts";
import type { IncidentMessage, Notification, OutboxItem } from "../core/notification.ts";
import type { StoredOutboxItem } from "../core/notification.ts";
import { wants } from "../core/wants.ts";

/** A message as a receiver would have got it. */
export interface ToldMessage {
  /** Milliseconds from the first poll. */
  readonly atMs: number;
  readonly notification: Omit<Notification, "id">;
}

/** The outbox on paper: makes messages of items when they are due, by the very rules of delivery. */
export interface PaperOutbox {
  readonly told: readonly ToldMessage[];
  readonly wants: (receiver: string, type: IncidentMessage) => boolean;
  add(items: readonly OutboxItem[]): void;
  /** Tells all that is due up to and at a moment. Milliseconds from the first poll. */
  tellUpTo(atMs: number): void;
}

/** @param startMs the first poll, in UTC milliseconds */
export function createPaperOutbox(
  receivers: readonly (MessageConfig & { readonly name: string })[],
  startMs: number,
): PaperOutbox {
  const told: ToldMessage[] = [];
  let seq = 0;
  const lanes = receivers.map((settings) => ({
    settings,
    open: [] as readonly StoredOutboxItem[],
    groupTimes: new Map<string, number>(),
    /** UTC milliseconds; null: nothing waits. */
    dueAtMs: null as number | null,
  }));
  type Lane = (typeof lanes)[number];

  const compose = (lane: Lane, nowMs: number): void => {
    const { settings, open, groupTimes } = lane;
    const { messages, nextDueAtMs } = composeMessages(open, settings, nowMs, groupTimes);
    for (const { notification, itemSeqs, groupNames } of messages) {
      const seqs = new Set(itemSeqs);
      lane.open = lane.open.filter((item) => !seqs.has(item.seq));
      for (const name of groupNames) groupTimes.set(name, nowMs);
      told.push({ atMs: nowMs - startMs, notification });
    }
    lane.dueAtMs = nextDueAtMs;
  };

  return {
    get told() {
      return told.toSorted((one, other) => one.atMs - other.atMs);
    },
    wants: (receiver, type) =>
      wants(
        receivers.find((each) => each.name === receiver),
        type,
      ),
    add(items) {
      for (const lane of lanes) {
        const mine = items.filter(({ receiver }) => receiver === lane.settings.name);
        if (mine.length === 0) continue;
        lane.open = [...lane.open, ...mine.map((item) => ({ ...item, seq: ++seq }))];
        const causedAtMs = Math.min(...mine.map((item) => item.causedAtMs));
        lane.dueAtMs = Math.min(lane.dueAtMs ?? Infinity, causedAtMs);
      }
    },
    tellUpTo(atMs) {
      for (const lane of lanes) {
        while (lane.dueAtMs !== null && lane.dueAtMs <= startMs + atMs) compose(lane, lane.dueAtMs);
      }
    },
  };
}
