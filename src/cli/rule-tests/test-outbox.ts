import type { MessageConfig } from "../../config/receivers/common.ts";
import { composeMessages } from "../../alerts/compose-messages.ts";
import type { IncidentMessage, Notification, OutboxItem } from "../../alerts/notification.ts";
import type { StoredOutboxItem } from "../../alerts/notification.ts";
import { wants } from "../../alerts/notification.ts";

/** A message as a receiver would have got it. */
export interface SentMessage {
  /** Milliseconds from the first poll. */
  readonly atMs: number;
  readonly notification: Omit<Notification, "id">;
}

/** The outbox on paper: makes messages of items when they are due, by the very rules of delivery. */
export interface PaperOutbox {
  readonly sent: readonly SentMessage[];
  readonly wants: (receiver: string, type: IncidentMessage) => boolean;
  add(items: readonly OutboxItem[]): void;
  /** Tells all that is due up to and at a moment. Milliseconds from the first poll. */
  sendUpTo(atMs: number): void;
}

/** @param startMs the first poll, in UTC milliseconds */
export function createPaperOutbox(
  receivers: readonly (MessageConfig & { readonly name: string })[],
  startMs: number,
): PaperOutbox {
  const sent: SentMessage[] = [];
  let seq = 0;
  const workers = receivers.map((settings) => ({
    settings,
    open: [] as readonly StoredOutboxItem[],
    groupTimes: new Map<string, number>(),
    /** UTC milliseconds; null: nothing waits. */
    dueAtMs: null as number | null,
  }));
  type Worker = (typeof workers)[number];

  const compose = (worker: Worker, nowMs: number): void => {
    const { settings, open, groupTimes } = worker;
    const { messages, nextDueAtMs } = composeMessages(open, settings, nowMs, groupTimes);
    for (const { notification, itemSeqs, groupNames } of messages) {
      const seqs = new Set(itemSeqs);
      worker.open = worker.open.filter((item) => !seqs.has(item.seq));
      for (const name of groupNames) groupTimes.set(name, nowMs);
      sent.push({ atMs: nowMs - startMs, notification });
    }
    worker.dueAtMs = nextDueAtMs;
  };

  return {
    get sent() {
      return sent.toSorted((one, other) => one.atMs - other.atMs);
    },
    wants: (receiver, type) =>
      wants(
        receivers.find((each) => each.name === receiver),
        type,
      ),
    add(items) {
      for (const worker of workers) {
        const mine = items.filter(({ receiver }) => receiver === worker.settings.name);
        if (mine.length === 0) continue;
        worker.open = [...worker.open, ...mine.map((item) => ({ ...item, seq: ++seq }))];
        const causedAtMs = Math.min(...mine.map((item) => item.causedAtMs));
        worker.dueAtMs = Math.min(worker.dueAtMs ?? Infinity, causedAtMs);
      }
    },
    sendUpTo(atMs) {
      for (const worker of workers) {
        while (worker.dueAtMs !== null && worker.dueAtMs <= startMs + atMs)
          compose(worker, worker.dueAtMs);
      }
    },
  };
}
