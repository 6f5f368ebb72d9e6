import { composeMessages, type MessageSettings } from "../../../src/alerts/compose-messages.ts";
import type { GroupTimes } from "../../../src/alerts/grouping.ts";
import type { OutboxItem, StoredOutboxItem } from "../../../src/alerts/notification.ts";
import { startMs } from "../../notify/support/items.ts";

const usual: MessageSettings = {
  groupBy: ["rule", "region", "key"],
  groupWaitMs: 5_000,
  groupIntervalMs: 5_000,
  mergeAbove: 1_000_000,
  maxIncidents: 50,
};
export function stored(items: readonly OutboxItem[]): StoredOutboxItem[] {
  return items.map((item, index) => ({ ...item, seq: index + 1 }));
}

/** Messages of items at a moment, and what follows from them. */
export function compose(
  items: readonly OutboxItem[],
  more: Partial<MessageSettings> = {},
  afterMs = 5_000,
  notifiedAtMs?: GroupTimes,
) {
  const settings = { ...usual, ...more };
  const { messages, nextDueAtMs } = composeMessages(
    stored(items),
    settings,
    startMs + afterMs,
    notifiedAtMs,
  );
  return {
    messages: messages.map(({ notification }) => notification),
    seqs: messages.map(({ itemSeqs }) => itemSeqs),
    sizes: messages.map(({ itemSeqs }) => itemSeqs.length),
    /** When each group was notified, as a store remembers it. */
    times: new Map(
      messages.flatMap(({ groupNames, notification }) =>
        groupNames.map((name) => [name, notification.createdAtMs] as const),
      ),
    ),
    nextDueAfterMs: nextDueAtMs === null ? null : nextDueAtMs - startMs,
  };
}
