import { createHash } from "node:crypto";
import {
  composeInSlices,
  type ComposedMessage,
  type MessageSettings,
} from "../alerts/compose-messages.ts";
import type { GroupTimes } from "../alerts/grouping.ts";
import { mostCounted, type NewNotification } from "../alerts/notification.ts";
import type { Clock } from "../lib/clock.ts";
import { batches, paced, runInSlices } from "../lib/iterables.ts";
import type { Outbox } from "../store/outbox.ts";

/** More items than this at once become several notifications, so that memory use stays flat. */
const maxItems = 10_000;

/** Keeps a transaction short enough for the polls that wait for the store, and for a stop. */
const maxPerTransaction = 50;

/** How a receiver wants its notifications, and how long each is retried. Milliseconds. */
export interface ComposeSettings extends MessageSettings {
  readonly giveUpAfterMs: number;
}

export interface ComposeDeps {
  readonly outbox: Pick<Outbox, "openItems" | "groupTimes" | "countFiring" | "compose">;
  readonly clock: Pick<Clock, "now">;
  readonly deliveryClock: () => number;
  /** How many messages at most; the others are composed later, as things are then. */
  readonly most?: number;
  /** What is stored can be sent while the rest is composed. */
  readonly onStored: () => Promise<void>;
  /** What is not composed when it aborts is left to the next process. */
  readonly signal: AbortSignal;
  /** Items wait until a notification of the receiver has ended. */
  readonly onHeld: () => void;
}

/**
 * Groups the receiver's open items and stores a notification of each group that has waited long enough.
 *
 * @returns when the next group is due, in milliseconds of the delivery clock; null: none waits
 */
export async function composeDue(
  receiver: string,
  settings: ComposeSettings,
  { outbox, clock, deliveryClock, most = Infinity, signal, ...on }: ComposeDeps,
): Promise<number | null> {
  const { groupWaitMs, groupIntervalMs, giveUpAfterMs } = settings;
  // Otherwise a group never waits longer for its last notification than for its own items.
  const hasInterval = groupIntervalMs > groupWaitMs;
  for (;;) {
    const items = await outbox.openItems(receiver, maxItems, on.onHeld);
    // Only now: items stored while these were read would otherwise be from the future and not wait.
    const nowMs = clock.now().utcMs;
    const deliveryNowMs = deliveryClock();
    // With very many items, those that wait for their group's interval must not hide those behind.
    const notifiedAtMs: GroupTimes =
      items.length < maxItems && hasInterval
        ? await outbox.groupTimes(receiver, nowMs - groupIntervalMs)
        : new Map();
    const { messages, nextDueAtMs } = await runInSlices(
      composeInSlices(items, settings, nowMs, notifiedAtMs),
    );
    const now = firstOf(messages, most);
    for await (const batch of paced(batches(now, maxPerTransaction))) {
      if (signal.aborted) return null;
      const notifications: NewNotification[] = [];
      for (const { identity, notification, itemSeqs, groupNames } of batch) {
        const { type, rule, group } = notification;
        const isOver = type === "incident.resolved";
        const stillFiring = isOver
          ? await outbox.countFiring(receiver, rule, group, mostCounted)
          : 0;
        notifications.push({
          notification: {
            id: notificationId(identity),
            ...notification,
            ...(stillFiring > 0 && { stillFiring }),
          },
          itemSeqs,
          groupNames: hasInterval ? groupNames : [],
          nextAttemptAtMs: deliveryNowMs,
          giveUpAtMs: deliveryNowMs + giveUpAfterMs,
        });
      }
      await outbox.compose(notifications);
      await on.onStored();
    }
    if (now.length < messages.length) return deliveryNowMs;
    if (items.length < maxItems || messages.length === 0) {
      return nextDueAtMs === null ? null : deliveryNowMs + nextDueAtMs - nowMs;
    }
  }
}

/** Also what is in a group with the last of them: later it would wait for the interval of its group. */
function firstOf(messages: readonly ComposedMessage[], most: number): readonly ComposedMessage[] {
  if (messages.length <= most) return messages;
  const groups = new Set(messages.slice(0, most).flatMap(({ groupNames }) => groupNames));
  const isTaken = ({ groupNames }: ComposedMessage): boolean =>
    groupNames.some((name) => groups.has(name));
  const others = messages.slice(most);
  const end = others.findIndex((each) => !isTaken(each));
  return messages.slice(0, end === -1 ? messages.length : most + end);
}

/** Without a dot: Standard Webhooks separates what it signs by dots. */
export function notificationId(identity: string): string {
  return `msg_${createHash("sha256").update(identity).digest("base64url")}`;
}
