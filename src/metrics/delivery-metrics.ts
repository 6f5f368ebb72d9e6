import { Counter, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import { addGauge } from "./gauge.ts";
import type { Series } from "./gauge.ts";

/** What waits for a receiver. */
export interface OutboxView {
  readonly receiver: string;
  readonly pending: number;
  readonly dead: number;
  /** When the cause of the oldest pending notification was observed. UTC milliseconds. */
  readonly oldestCausedAtMs: number | null;
}

export interface DeliveryMetricsOptions {
  readonly receivers: readonly string[];
  readonly deliveryFailureReasons: readonly string[];
  readonly readOutbox: () => Promise<readonly OutboxView[]>;
}

/** How notifications reach their receivers. */
export function createDeliveryMetrics(
  registry: Registry,
  { receivers, deliveryFailureReasons, readOutbox }: DeliveryMetricsOptions,
) {
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
  for (const receiver of receivers) {
    delivered.inc({ receiver }, 0);
    delay.zero({ receiver });
    for (const reason of deliveryFailureReasons) failures.inc({ receiver, reason }, 0);
  }

  // The gauges of one scrape share one read.
  let reading: Promise<readonly OutboxView[]> | null = null;
  const read = async (
    valueOf: (view: OutboxView) => number | null,
    others: Series<"receiver"> = [],
  ): Promise<Series<"receiver">> => {
    reading ??= readOutbox().finally(() => (reading = null));
    const views = await reading;
    const own = views.flatMap((view) => {
      const value = valueOf(view);
      return value === null ? [] : [[{ receiver: view.receiver }, value] as const];
    });
    return [...others, ...own];
  };
  const zeros = receivers.map((receiver) => [{ receiver }, 0] as const);

  addGauge(registry, {
    name: "sandwatch_notifications_pending",
    help: "Notifications that wait for delivery.",
    labels: ["receiver"],
    read: () => read(({ pending }) => pending, zeros),
  });
  addGauge(registry, {
    name: "sandwatch_notifications_dead",
    help: "Dead letters that are kept.",
    labels: ["receiver"],
    read: () => read(({ dead }) => dead, zeros),
  });
  addGauge(registry, {
    name: "sandwatch_notification_oldest_pending_timestamp_seconds",
    help: "When the cause of the oldest pending notification was observed, in seconds since 1970; absent without one.",
    labels: ["receiver"],
    // Nothing is late for a receiver that is not configured.
    read: () =>
      read(({ receiver, oldestCausedAtMs: atMs }) =>
        atMs !== null && receivers.includes(receiver) ? atMs / 1_000 : null,
      ),
  });

  return {
    attemptFailed: (receiver: string, reason: string): void => failures.inc({ receiver, reason }),
    delivered(receiver: string, delaySeconds: number): void {
      delivered.inc({ receiver });
      delay.observe({ receiver }, delaySeconds);
    },
    /** For these reasons no delivery has failed. */
    dead(receiver: string, reason: string): void {
      if (reason === "expired" || reason === "unreadable") failures.inc({ receiver, reason });
    },
  };
}
