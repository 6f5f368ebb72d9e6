import { createHash } from "node:crypto";
import { composeMessages } from "../core/grouping.ts";
import type { ComposedMessage, GroupingSettings, GroupTimes } from "../core/grouping.ts";
import type { NewNotification, Outbox } from "./outbox.ts";

/** More items than this at once become several messages, so that memory stays flat in a storm. */
const maxItems = 10_000;

/** Keeps a transaction short enough for the polls that wait for the store. */
const maxMessagesPerTransaction = 100;

/** A receiver, how it wants its messages, and how long each of them is tried. Milliseconds. */
export interface ComposeSettings extends GroupingSettings {
  readonly name: string;
  readonly giveUpAfterMs: number;
}

export interface ComposeDeps {
  readonly outbox: Outbox;
  /** What is stored can be sent while the rest is still being composed. */
  readonly onStored: () => Promise<void>;
}

/**
 * Turns the receiver's open items into stored notifications where their groups waited long enough.
 *
 * @param nowMs UTC milliseconds, by the clock that stamped the items
 * @param deliveryNowMs the same moment on the delivery clock
 * @returns in how many milliseconds the next group is due; null: none waits
 */
export async function composeDue(
  { outbox, onStored }: ComposeDeps,
  receiver: ComposeSettings,
  nowMs: number,
  deliveryNowMs: number,
): Promise<number | null> {
  for (;;) {
    const items = await outbox.openItems(receiver.name, maxItems);
    const toldAtMs = await toldLately(outbox, receiver, nowMs);
    const { messages, nextDueAtMs } = composeMessages(items, receiver, nowMs, toldAtMs);
    for (let at = 0; at < messages.length; at += maxMessagesPerTransaction) {
      const batch = messages.slice(at, at + maxMessagesPerTransaction);
      await outbox.compose(batch.map((message) => addTimes(message, receiver, deliveryNowMs)));
      await onStored();
    }
    if (items.length < maxItems || messages.length === 0) {
      return nextDueAtMs === null ? null : nextDueAtMs - nowMs;
    }
  }
}

/** Where a group's message waits no longer for an earlier one than for its own items, none is asked. */
function toldLately(
  outbox: Outbox,
  { name, groupWaitMs, groupIntervalMs }: ComposeSettings,
  nowMs: number,
): Promise<GroupTimes> {
  return groupIntervalMs <= groupWaitMs
    ? Promise.resolve(new Map())
    : outbox.groupTimes(name, nowMs - groupIntervalMs);
}

function addTimes(
  message: ComposedMessage,
  { giveUpAfterMs }: ComposeSettings,
  deliveryNowMs: number,
): NewNotification {
  return {
    notification: { id: messageId(message.identity), ...message.notification },
    itemSeqs: message.itemSeqs,
    groupNames: message.groupNames,
    nextAttemptAtMs: deliveryNowMs,
    giveUpAtMs: deliveryNowMs + giveUpAfterMs,
  };
}

/** Holds no dot: Standard Webhooks separates by dots what it signs. */
function messageId(identity: string): string {
  return `msg_${createHash("sha256").update(identity).digest("base64url")}`;
}
