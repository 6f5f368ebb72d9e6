import { unwell } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { bars, lines } from "./panels.ts";
import { increase, ofInstance, quantile, series, once } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";

const interval = "1m";

export function deliveries(): Row {
  return {
    title: "Notifications",
    panels: [
      lines(
        {
          title: "Accepted",
          description: "Notifications that each receiver accepted.",
          unit: "short",
          width: 8,
          interval,
          queries: [
            overTime(
              `sum by (receiver) (${increase(series("sandwatch_notifications_total", ofInstance))})`,
              "{{receiver}}",
            ),
          ],
        },
        { bars: true, stacked: true },
      ),
      lines(
        {
          title: "Failed deliveries",
          description:
            "Failed deliveries, by receiver and reason, including repeated alerts and heartbeats.",
          unit: "short",
          width: 8,
          interval,
          queries: [
            overTime(
              `sum by (receiver, reason) (${increase(series("sandwatch_notification_failures_total", ofInstance))}) > 0`,
              "{{receiver}} {{reason}}",
            ),
          ],
        },
        { bars: true, stacked: true },
      ),
      bars(
        {
          title: "Delay",
          description:
            "Time from the poll that observed the cause until the receiver accepted the notification: median and 95th percentile.",
          unit: "s",
          width: 8,
          queries: [
            atEnd(delay(0.5), "{{receiver}} median"),
            atEnd(delay(0.95), "{{receiver}} p95"),
          ],
        },
        { limits: [[60, unwell]], none: "none delivered" },
      ),
      lines({
        title: "Pending",
        description: "Notifications that wait for delivery.",
        unit: "short",
        width: 8,
        queries: [overTime(byReceiver("sandwatch_notifications_pending"), "{{receiver}}")],
      }),
      lines({
        title: "Age of the oldest pending notification",
        description: "Time since its cause was observed. No line: none is pending.",
        unit: "s",
        width: 8,
        queries: [
          overTime(
            `time() - min by (receiver) (${series("sandwatch_notification_oldest_pending_timestamp_seconds", ofInstance)})`,
            "{{receiver}}",
          ),
        ],
      }),
      lines({
        title: "Dead letters",
        description:
          "Dead letters, until they are replayed or discarded, as the runbook of SandwatchNotificationsDead describes.",
        unit: "short",
        width: 8,
        queries: [overTime(byReceiver("sandwatch_notifications_dead"), "{{receiver}}")],
      }),
    ],
  };
}

function byReceiver(metric: string): string {
  return `sum by (receiver) (${ofReceivers(metric)})`;
}

/** A gauge of each receiver once. */
export function ofReceivers(metric: string): string {
  return once(series(metric, ofInstance), "job", "receiver");
}

function delay(share: number): string {
  return quantile(
    share,
    "sandwatch_notification_delay_seconds",
    ofInstance,
    ["receiver"],
    "$__range",
  );
}
