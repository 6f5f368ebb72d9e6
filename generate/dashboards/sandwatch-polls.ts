import { wellnessMapping } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { lines, timeline } from "./panels.ts";
import { ofInstance, ofTarget, quantile, rate, series } from "./promql.ts";
import { overTime, rows } from "./queries.ts";
import { table } from "./tables.ts";

const ofPolls = `${ofInstance},${ofTarget}`;
const ofRegion = `${ofInstance},region=~"$region"`;
const interval = "2m";

/** How many a minute. */
function aMinute(metric: string, matchers: string, ...by: readonly string[]): string {
  return `60 * sum by (${by.join(", ")}) (${rate(series(metric, matchers))})`;
}

export function polls(): Row {
  const worst = `topk(20, time() - max by (region, key) (${series("sandwatch_target_last_success_timestamp_seconds", ofPolls)} > 0))`;
  return {
    title: "Polls",
    panels: [
      lines({
        title: "Polls",
        description: "Polls, including failed ones.",
        unit: "opm",
        width: 8,
        interval,
        queries: [overTime(aMinute("sandwatch_polls_total", ofPolls, "region"), "{{region}}")],
      }),
      lines(
        {
          title: "Failed polls by reason",
          description: "Failed polls. docs/metrics.md describes the reasons.",
          unit: "opm",
          width: 8,
          interval,
          queries: [
            overTime(aMinute("sandwatch_poll_failures_total", ofPolls, "reason"), "{{reason}}"),
          ],
        },
        { stacked: true },
      ),
      lines({
        title: "Duration of polls",
        description: "From the first request to the end: median and 99th percentile.",
        unit: "s",
        width: 8,
        interval,
        queries: [
          overTime(
            quantile(0.5, "sandwatch_poll_duration_seconds", ofRegion, ["region"]),
            "{{region}} median",
          ),
          overTime(
            quantile(0.99, "sandwatch_poll_duration_seconds", ofRegion, ["region"]),
            "{{region}} p99",
          ),
        ],
      }),
      lines({
        title: "Since the last success",
        description: "Time since the last successful poll, of the twenty targets with the longest.",
        unit: "s",
        width: 8,
        queries: [overTime(worst, "{{region}} {{key}}")],
      }),
      lines({
        title: "Rate limited",
        description: "Responses 429 by operation, and polls that failed because of them.",
        unit: "opm",
        width: 8,
        interval,
        queries: [
          overTime(
            aMinute("sandwatch_api_requests_total", `${ofRegion},code="429"`, "operation"),
            "429 to {{operation}}",
          ),
          overTime(
            aMinute("sandwatch_poll_failures_total", `${ofPolls},reason="rate_limited"`, "region"),
            "polls of {{region}}",
          ),
        ],
      }),
      lines({
        title: "Clock",
        description:
          "Age of the latest successful poll by the clock of Prometheus. Negative values: one of the two clocks is wrong. It grows while all targets are down.",
        unit: "s",
        width: 8,
        queries: [
          overTime(
            `time() - max by (instance) (${series("sandwatch_target_last_success_timestamp_seconds", ofInstance)} > 0)`,
            "{{instance}}",
          ),
        ],
      }),
    ],
  };
}

export function answers(): Row {
  return {
    title: "Responses of the service",
    panels: [
      lines({
        title: "Requests by result",
        description: "Requests to the service, by operation and by HTTP status or failure reason.",
        unit: "opm",
        width: 6,
        interval,
        queries: [
          overTime(
            aMinute("sandwatch_api_requests_total", ofRegion, "operation", "code"),
            "{{operation}} {{code}}",
          ),
        ],
      }),
      lines({
        title: "Duration of requests",
        description: "To the last byte: 99th percentile.",
        unit: "s",
        width: 6,
        interval,
        queries: [
          overTime(
            quantile(0.99, "sandwatch_api_request_duration_seconds", ofRegion, ["operation"]),
            "{{operation}}",
          ),
        ],
      }),
      table(
        {
          title: "Drift",
          description:
            "Deviations of responses from the interface in the time range: the thirty fields with the most.",
          unit: "short",
          width: 12,
          queries: [
            rows(
              `topk(30, round(sum by (region, operation, field) (increase(${series("sandwatch_schema_deviations_total", ofRegion)}[$__range]))) > 0)`,
            ),
          ],
        },
        {
          values: ["deviations"],
          columns: { region: 60, operation: 110, field: null, deviations: 90 },
          none: "none",
        },
      ),
      timeline(
        {
          title: "Probes",
          description: "Whether the last run of each probe met its expectations.",
          unit: "short",
          width: 8,
          queries: [
            overTime(
              `min by (probe, region, key) (${series("sandwatch_probe_success", ofPolls)})`,
              "{{probe}} {{region}} {{key}}",
            ),
          ],
        },
        { mapping: wellnessMapping({ well: "as expected", unwell: "failed" }), none: "no probes" },
      ),
      lines({
        title: "Duration of probes",
        description: "The last run of each probe, with retries.",
        unit: "s",
        width: 8,
        queries: [
          overTime(
            `max by (probe, region, key) (${series("sandwatch_probe_duration_seconds", ofPolls)})`,
            "{{probe}} {{region}} {{key}}",
          ),
        ],
      }),
      lines({
        title: "Universes",
        description: "Universes in the last response. Needs a probe of universes.",
        unit: "short",
        width: 4,
        queries: [
          overTime(
            `max by (region, key) (${series("sandwatch_universes", ofPolls)})`,
            "{{region}} {{key}}",
          ),
        ],
      }),
      lines({
        title: "Last use of users",
        description: "Time since the user of a probe was last used.",
        unit: "s",
        width: 4,
        queries: [
          overTime(
            `time() - max by (probe, region, key) (${series("sandwatch_user_last_used_timestamp_seconds", ofPolls)})`,
            "{{probe}} {{region}} {{key}}",
          ),
        ],
      }),
    ],
  };
}
