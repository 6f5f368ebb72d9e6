import { unwell } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { bars, lines } from "./panels.ts";
import { increase, ofInstance, quantile, series, once } from "./promql.ts";

/** A gauge of each receiver once. */
export function ofReceivers(metric: string): string {
  return once(series(metric, ofInstance), "job", "receiver");
}

function byReceiver(metric: string): [expr: string, legend: string] {
  return [`sum by (receiver) (${ofReceivers(metric)})`, "{{receiver}}"];
}

function delay(share: number): string {
  const metric = "sandwatch_notification_delay_seconds";
  return quantile(share, metric, ofInstance, ["receiver"], "$__range");
}

const increaseOf = (metric: string): string => increase(series(metric, ofInstance));

export const deliveries: Row = {
  title: "Notifications",
  panels: [
    lines("Accepted", "short", 8)
      .about("Notifications that each receiver accepted.")
      .every("1m")
      .over(`sum by (receiver) (${increaseOf("sandwatch_notifications_total")})`, "{{receiver}}")
      .as({ bars: true, stacked: true }),
    lines("Failed deliveries", "short", 8)
      .about("Failed deliveries, by receiver and reason, including repeated alerts and heartbeats.")
      .every("1m")
      .over(
        `sum by (receiver, reason) (${increaseOf("sandwatch_notification_failures_total")}) > 0`,
        "{{receiver}} {{reason}}",
      )
      .as({ bars: true, stacked: true }),
    bars("Delay", "s", 8)
      .about(
        "Time from the poll that observed the cause until the receiver accepted the notification: median and 95th percentile.",
      )
      .atEnd(delay(0.5), "{{receiver}} median")
      .atEnd(delay(0.95), "{{receiver}} p95")
      .as({ limits: [[60, unwell]], none: "none delivered" }),
    lines("Pending", "short", 8)
      .about("Notifications that wait for delivery.")
      .over(...byReceiver("sandwatch_notifications_pending")),
    lines("Age of the oldest pending notification", "s", 8)
      .about("Time since its cause was observed. No line: none is pending.")
      .over(
        `time() - min by (receiver) (${series("sandwatch_notification_oldest_pending_timestamp_seconds", ofInstance)})`,
        "{{receiver}}",
      ),
    lines("Dead letters", "short", 8)
      .about(
        "Dead letters, until they are replayed or discarded, as the runbook of SandwatchNotificationsDead describes.",
      )
      .over(...byReceiver("sandwatch_notifications_dead")),
  ],
};
