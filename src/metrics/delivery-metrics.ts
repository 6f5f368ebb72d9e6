import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const names = {
  pending: "sandwatch_notifications_pending",
  dead: "sandwatch_notifications_dead",
  oldest: "sandwatch_notification_oldest_pending_timestamp_seconds",
} as const;

/** Those that show what `showOutbox` was given last. */
export const outboxFamilies: readonly string[] = Object.values(names);

/** What waits for a receiver. */
export interface OutboxView {
  readonly receiver: string;
  readonly pending: number;
  readonly dead: number;
  /** When the cause of the oldest that is not told yet was seen. UTC milliseconds. */
  readonly oldestCausedAtMs: number | null;
}

export interface DeliveryMetrics {
  attemptFailed(receiver: string, reason: string): void;
  delivered(receiver: string, delaySeconds: number): void;
  /** A notification was given up; one whose time ran out has had no attempt fail for that reason. */
  dead(receiver: string, reason: string): void;
  /** To be called before a scrape, with all that waits. */
  showOutbox(views: readonly OutboxView[]): void;
}

export interface DeliveryMetricsOptions {
  readonly receivers: readonly string[];
  readonly failureReasons: readonly string[];
}

/** How the alerts reach their receivers. */
export function createDeliveryMetrics(
  registry: Registry,
  { receivers, failureReasons }: DeliveryMetricsOptions,
): DeliveryMetrics {
  const registers = [registry];

  const delivered = new Counter({
    name: "sandwatch_notifications_total",
    help: "Notifications that the receiver accepted.",
    labelNames: ["receiver"],
    registers,
  });

  const failures = new Counter({
    name: "sandwatch_notification_failures_total",
    help: "Failed deliveries, by reason; also notifications that expired or could not be read from the store.",
    labelNames: ["receiver", "reason"],
    registers,
  });

  const delay = new Histogram({
    name: "sandwatch_notification_delay_seconds",
    help: "Time from the poll that observed the cause until the receiver accepted the notification.",
    labelNames: ["receiver"],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200, 86_400],
    registers,
  });

  const pending = new Gauge({
    name: names.pending,
    help: "Notifications that wait for delivery.",
    labelNames: ["receiver"],
    registers,
  });

  const dead = new Gauge({
    name: names.dead,
    help: "Dead letters that are kept.",
    labelNames: ["receiver"],
    registers,
  });

  const oldest = new Gauge({
    name: names.oldest,
    help: "When the cause of the oldest pending notification was observed, in seconds since 1970; absent without one.",
    labelNames: ["receiver"],
    registers,
  });

  for (const receiver of receivers) {
    delivered.inc({ receiver }, 0);
    delay.zero({ receiver });
    for (const reason of failureReasons) failures.inc({ receiver, reason }, 0);
  }

  return {
    attemptFailed: (receiver, reason) => failures.inc({ receiver, reason }),
    delivered(receiver, delaySeconds) {
      delivered.inc({ receiver });
      delay.observe({ receiver }, delaySeconds);
    },
    dead(receiver, reason) {
      if (reason === "expired" || reason === "unreadable") failures.inc({ receiver, reason });
    },
    showOutbox(views) {
      for (const gauge of [pending, dead, oldest]) gauge.reset();
      for (const receiver of receivers) {
        pending.set({ receiver }, 0);
        dead.set({ receiver }, 0);
      }
      for (const view of views) {
        const { receiver } = view;
        pending.set({ receiver }, view.pending);
        dead.set({ receiver }, view.dead);
        // Nothing is late for a receiver that is not configured.
        if (view.oldestCausedAtMs !== null && receivers.includes(receiver)) {
          oldest.set({ receiver }, view.oldestCausedAtMs / 1_000);
        }
      }
    },
  };
}
