import { wellness } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { lines, timeline } from "./panels.ts";
import { ofInstance, ofTarget, quantile, rate, series } from "./promql.ts";
import { table } from "./tables.ts";

const ofPolls = `${ofInstance},${ofTarget}`;
const ofRegion = `${ofInstance},region=~"$region"`;
const interval = "2m";
const lastSuccess = "sandwatch_target_last_success_timestamp_seconds";

/** How many a minute. */
function aMinute(metric: string, matchers: string, ...by: readonly string[]): string {
  return `60 * sum by (${by.join(", ")}) (${rate(series(metric, matchers))})`;
}

const durationOfPolls = (share: number): string =>
  quantile(share, "sandwatch_poll_duration_seconds", ofRegion, ["region"]);

export const polls: Row = {
  title: "Polls",
  panels: [
    lines("Polls", "opm", 8)
      .about("Polls, including failed ones.")
      .every(interval)
      .over(aMinute("sandwatch_polls_total", ofPolls, "region"), "{{region}}"),
    lines("Failed polls by reason", "opm", 8)
      .about("Failed polls. docs/metrics.md describes the reasons.")
      .every(interval)
      .over(aMinute("sandwatch_poll_failures_total", ofPolls, "reason"), "{{reason}}")
      .as({ stacked: true }),
    lines("Duration of polls", "s", 8)
      .about("From the first request to the end: median and 99th percentile.")
      .every(interval)
      .over(durationOfPolls(0.5), "{{region}} median")
      .over(durationOfPolls(0.99), "{{region}} p99"),
    lines("Since the last success", "s", 8)
      .about("Time since the last successful poll, of the twenty targets with the longest.")
      .over(
        `topk(20, time() - max by (region, key) (${series(lastSuccess, ofPolls)} > 0))`,
        "{{region}} {{key}}",
      ),
    lines("Rate limited", "opm", 8)
      .about("Responses 429 by operation, and polls that failed because of them.")
      .every(interval)
      .over(
        aMinute("sandwatch_api_requests_total", `${ofRegion},code="429"`, "operation"),
        "429 to {{operation}}",
      )
      .over(
        aMinute("sandwatch_poll_failures_total", `${ofPolls},reason="rate_limited"`, "region"),
        "polls of {{region}}",
      ),
    lines("Clock", "s", 8)
      .about(
        "Age of the latest successful poll by the clock of Prometheus. Negative values: one of the two clocks is wrong. It grows while all targets are down.",
      )
      .over(`time() - max by (instance) (${series(lastSuccess, ofInstance)} > 0)`, "{{instance}}"),
  ],
};

const byProbe = (expr: string): [expr: string, legend: string] => [
  expr,
  "{{probe}} {{region}} {{key}}",
];
const lastUsed = series("sandwatch_user_last_used_timestamp_seconds", ofPolls);

export const answers: Row = {
  title: "Responses of the service",
  panels: [
    lines("Requests by result", "opm", 6)
      .about("Requests to the service, by operation and by HTTP status or failure reason.")
      .every(interval)
      .over(
        aMinute("sandwatch_api_requests_total", ofRegion, "operation", "code"),
        "{{operation}} {{code}}",
      ),
    lines("Duration of requests", "s", 6)
      .about("To the last byte: 99th percentile.")
      .every(interval)
      .over(
        quantile(0.99, "sandwatch_api_request_duration_seconds", ofRegion, ["operation"]),
        "{{operation}}",
      ),
    table("Drift", "short", 12)
      .about(
        "Deviations of responses from the interface in the time range: the thirty fields with the most.",
      )
      .rows(
        `topk(30, round(sum by (region, operation, field) (increase(${series("sandwatch_schema_deviations_total", ofRegion)}[$__range]))) > 0)`,
      )
      .as({
        values: ["deviations"],
        columns: { region: 60, operation: 110, field: null, deviations: 90 },
        none: "none",
      }),
    timeline("Probes", "short", 8)
      .about("Whether the last run of each probe met its expectations.")
      .over(
        ...byProbe(`min by (probe, region, key) (${series("sandwatch_probe_success", ofPolls)})`),
      )
      .as({ mapping: wellness("as expected", "failed"), none: "no probes" }),
    lines("Duration of probes", "s", 8)
      .about("The last run of each probe, with retries.")
      .over(
        ...byProbe(
          `max by (probe, region, key) (${series("sandwatch_probe_duration_seconds", ofPolls)})`,
        ),
      ),
    lines("Universes", "short", 4)
      .about("Universes in the last response. Needs a probe of universes.")
      .over(
        `max by (region, key) (${series("sandwatch_universes", ofPolls)})`,
        "{{region}} {{key}}",
      ),
    lines("Last use of users", "s", 4)
      .about("Time since the user of a probe was last used.")
      .over(...byProbe(`time() - max by (probe, region, key) (${lastUsed})`)),
  ],
};
