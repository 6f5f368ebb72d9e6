import type { DeliveryLoop } from "./notify/loop.ts";
import type { Clock } from "./platform/clock.ts";
import type { DeadLetters, Notifications } from "./store/dead-letters.ts";

/** What people see of notifications, and do about those that were given up. */
export interface DaemonNotifications extends Pick<Notifications, "list" | "find" | "attempts"> {
  /** Has dead ones delivered after all, as far as their receivers take them; gives how many. */
  replay(which: DeadLetters): Promise<number>;
  /** Lets dead ones be; gives how many. */
  discard(which: DeadLetters): Promise<number>;
}

interface NotificationsParts {
  readonly stored: Notifications;
  readonly delivery: Pick<DeliveryLoop, "freshTimes" | "wake">;
  readonly clock: Clock;
}

export function createNotifications({
  stored,
  delivery,
  clock,
}: NotificationsParts): DaemonNotifications {
  return {
    ...stored,
    async replay(which) {
      const count = await stored.replay(which, delivery.freshTimes);
      if (count > 0) delivery.wake();
      return count;
    },
    discard: (which) => stored.discard(which, clock.now().utcMs),
  };
}
