import { unwell, wellnessMapping } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { bars, lines, timeline } from "./panels.ts";
import { ofInstance, ofTarget, quantile, rate, series } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";

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
        description: "Polls that ended, well or badly.",
        unit: "opm",
        width: 8,
        interval,
        queries: [overTime(aMinute("sandwatch_polls_total", ofPolls, "region"), "{{region}}")],
      }),
      lines(
        {
          title: "Failed polls by reason",
          description:
            "Polls that gave no listing. The runbook of SandboxTargetDown tells what each reason is.",
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
        title: "How long polls take",
        description:
          "From the first request to the end: half of all polls, and one in a hundred, take longer.",
        unit: "s",
        width: 8,
        interval,
        queries: [
          overTime(
            quantile(0.5, "sandwatch_poll_duration_seconds", ofRegion, ["region"]),
            "{{region}} half",
          ),
          overTime(
            quantile(0.99, "sandwatch_poll_duration_seconds", ofRegion, ["region"]),
            "{{region}} one in a hundred",
          ),
        ],
      }),
      lines({
        title: "Since the last success",
        description:
          "Since the last poll that succeeded, of the twenty targets that wait for longest.",
        unit: "s",
        width: 8,
        queries: [overTime(worst, "{{region}} {{key}}")],
      }),
      lines({
        title: "Held back by rate limits",
        description:
          "Answers 429 by operation, and polls that came to nothing because of them or of the time that they asked to wait.",
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
          "How long ago, for Prometheus, the latest poll succeeded. Below nought, one of the two clocks is wrong; it grows while nothing can be seen.",
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
    title: "The service's answers",
    panels: [
      lines({
        title: "Requests by answer",
        description:
          "Requests to the service, by operation and HTTP status, or by the reason why there was no answer.",
        unit: "opm",
        width: 8,
        interval,
        queries: [
          overTime(
            aMinute("sandwatch_api_requests_total", ofRegion, "operation", "code"),
            "{{operation}} {{code}}",
          ),
        ],
      }),
      lines({
        title: "How long requests take",
        description: "To the last byte: one in a hundred takes longer.",
        unit: "s",
        width: 8,
        interval,
        queries: [
          overTime(
            quantile(0.99, "sandwatch_api_request_duration_seconds", ofRegion, ["operation"]),
            "{{operation}}",
          ),
        ],
      }),
      bars(
        {
          title: "Drift",
          description:
            "Places in answers that were not as the service's interface has them, within the time range: the thirty fields with most of them.",
          unit: "short",
          width: 8,
          queries: [
            atEnd(
              `topk(30, sum by (region, operation, field) (increase(${series("sandwatch_schema_deviations_total", ofRegion)}[$__range])))`,
              "{{region}} {{operation}} {{field}}",
            ),
          ],
        },
        { limits: [[1, unwell]], none: "none ever" },
      ),
      timeline(
        {
          title: "Probes",
          description: "Whether the last run of each probe brought what is expected.",
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
        title: "How long probes take",
        description: "The last run of each, with its retries.",
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
        description:
          "How many the last answer listed. There are none without a probe of universes.",
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
        title: "Users last used",
        description: "How long ago the user that a probe asks for was last used.",
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
