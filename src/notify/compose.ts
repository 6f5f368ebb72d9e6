import { createHash } from "node:crypto";
import { composeInSlices } from "../core/grouping.ts";
import type { ComposedMessage, GroupingSettings, GroupTimes } from "../core/grouping.ts";
import { batches, paced } from "../platform/paced.ts";
import { runInSlices } from "../platform/run-in-slices.ts";
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

/** A moment on two clocks. */
export interface ComposeMoment {
  /** By the clock that stamps the items. */
  readonly utcMs: number;
  /** By the delivery clock. */
  readonly deliveryMs: number;
}

export interface ComposeDeps {
  readonly outbox: Outbox;
  readonly now: () => ComposeMoment;
  /** What is stored can be sent while the rest is still being composed. */
  readonly onStored: () => Promise<void>;
  /** Open items that cannot be read. */
  readonly onUnreadable: (itemSeqs: readonly number[]) => Promise<void>;
}

/**
 * Turns the receiver's open items into stored notifications where their groups waited long enough.
 *
 * @returns when the next group is due, in milliseconds of the delivery clock; null: none waits
 */
export async function composeDue(
  { outbox, now, onStored, onUnreadable }: ComposeDeps,
  receiver: ComposeSettings,
): Promise<number | null> {
  for (;;) {
    const unreadable: number[] = [];
    const items = await outbox.openItems(receiver.name, maxItems, (seq) => unreadable.push(seq));
    if (unreadable.length > 0) await onUnreadable(unreadable);
    // Only now: what comes while they are read would else be from the future, and not wait at all.
    const { utcMs: nowMs, deliveryMs } = now();
    // What waits for a group's interval must not keep those behind it out of sight.
    const toldAtMs =
      items.length < maxItems
        ? await toldLately(outbox, receiver, nowMs)
        : new Map<string, number>();
    const { messages, nextDueAtMs } = await runInSlices(
      composeInSlices(items, receiver, nowMs, toldAtMs),
    );
    for await (const batch of paced(batches(messages, maxMessagesPerTransaction))) {
      await outbox.compose(batch.map((message) => addTimes(message, receiver, deliveryMs)));
      await onStored();
    }
    if (items.length < maxItems || messages.length === 0) {
      return nextDueAtMs === null ? null : deliveryMs + nextDueAtMs - nowMs;
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
