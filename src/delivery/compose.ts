import { createHash } from "node:crypto";
import { composeInSteps } from "../core/grouping.ts";
import type { ComposedMessage, GroupingSettings, GroupTimes } from "../core/grouping.ts";
import { batches, pace, paced } from "../platform/paced.ts";
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
    // What waits for a group's interval must not keep those behind it out of sight.
    const toldAtMs =
      items.length < maxItems
        ? await toldLately(outbox, receiver, nowMs)
        : new Map<string, number>();
    const { messages, nextDueAtMs } = await pace(composeInSteps(items, receiver, nowMs, toldAtMs));
    for await (const batch of paced(batches(messages, maxMessagesPerTransaction))) {
      await outbox.compose(batch.map((message) => addTimes(message, receiver, deliveryNowMs)));
      await onStored();
    }
    if (items.length < maxItems || messages.length === 0) {
      return nextDueAtMs === null ? null : nextDueAtMs - nowMs;
    }
  }
}

function toldLately(outbox: Outbox, settings: ComposeSettings, nowMs: number): Promise<GroupTimes> {
  return heedsInterval(settings)
    ? outbox.groupTimes(settings.name, nowMs - settings.groupIntervalMs)
    : Promise.resolve(new Map());
}

/** Otherwise a group's message never waits longer for the one before than for its own items. */
function heedsInterval({ groupWaitMs, groupIntervalMs }: ComposeSettings): boolean {
  return groupIntervalMs > groupWaitMs;
}

function addTimes(
  message: ComposedMessage,
  settings: ComposeSettings,
  deliveryNowMs: number,
): NewNotification {
  return {
    notification: { id: messageId(message.identity), ...message.notification },
    itemSeqs: message.itemSeqs,
    groupNames: heedsInterval(settings) ? message.groupNames : [],
    nextAttemptAtMs: deliveryNowMs,
    giveUpAtMs: deliveryNowMs + settings.giveUpAfterMs,
  };
}

/** Holds no dot: Standard Webhooks separates by dots what it signs. */
function messageId(identity: string): string {
  return `msg_${createHash("sha256").update(identity).digest("base64url")}`;
}
