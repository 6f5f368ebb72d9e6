import { unwell } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { bars, lines } from "./panels.ts";
import { increase, ofInstance, quantile, series } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";

const interval = "1m";

export function deliveries(): Row {
  return {
    title: "Notifications",
    panels: [
      lines(
        {
          title: "Taken",
          description: "Notifications that each receiver took.",
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
          title: "Failed attempts",
          description:
            "Attempts that failed, by receiver and reason; reposts and heartbeats count too.",
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
          title: "Until they were told",
          description:
            "From the poll that saw the cause to the receiver's yes, within the time range: half of all notifications, and one in twenty, took longer.",
          unit: "s",
          width: 8,
          queries: [
            atEnd(delay(0.5), "{{receiver}} half"),
            atEnd(delay(0.95), "{{receiver}} one in twenty"),
          ],
        },
        { limits: [[60, unwell]], none: "none told" },
      ),
      lines({
        title: "Waiting",
        description: "Notifications that were neither taken nor given up.",
        unit: "short",
        width: 8,
        queries: [overTime(byReceiver("sandwatch_notifications_pending"), "{{receiver}}")],
      }),
      lines({
        title: "Age of the oldest that waits",
        description: "Since its cause was seen. Where there is nothing, nothing waits.",
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
          "Notifications that were given up, until they are replayed or discarded: the runbook of SandwatchNotificationsDead tells how.",
        unit: "short",
        width: 8,
        queries: [overTime(byReceiver("sandwatch_notifications_dead"), "{{receiver}}")],
      }),
    ],
  };
}

function byReceiver(metric: string): string {
  return `sum by (receiver) (${series(metric, ofInstance)})`;
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
