import { wellnessMapping } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import type { Query } from "./queries.ts";
import { lines, stat, timeline } from "./panels.ts";
import { ofInstance, quantile, rate, series } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";

const interval = "2m";

/** A metric as it is, by instance. */
function plain(metric: string, what: string): Query {
  return overTime(`max by (instance) (${series(metric, ofInstance)})`, `{{instance}} ${what}`);
}

function seconds(metric: string, what: string): Query {
  return overTime(
    `sum by (instance) (${rate(series(metric, ofInstance))})`,
    `{{instance}} ${what}`,
  );
}

export function eventLoopAndMemory(): Row {
  return {
    title: "Process",
    panels: [
      lines({
        title: "Event loop",
        description:
          "How late it is: half of its turns, one in a hundred, and the worst between two scrapes.",
        unit: "s",
        width: 8,
        queries: [
          plain("nodejs_eventloop_lag_p50_seconds", "half"),
          plain("nodejs_eventloop_lag_p99_seconds", "one in a hundred"),
          plain("nodejs_eventloop_lag_max_seconds", "worst"),
        ],
      }),
      lines({
        title: "Memory",
        description:
          "Of the process as a whole, of its heap, and outside the heap, such as buffers.",
        unit: "bytes",
        width: 8,
        queries: [
          plain("process_resident_memory_bytes", "resident"),
          plain("nodejs_heap_size_used_bytes", "heap in use"),
          plain("nodejs_external_memory_bytes", "outside the heap"),
        ],
      }),
      lines({
        title: "CPU",
        description:
          "How much of one core it uses. Much more than all of one is not possible for long.",
        unit: "percentunit",
        width: 8,
        interval,
        queries: [
          seconds("process_cpu_user_seconds_total", "user"),
          seconds("process_cpu_system_seconds_total", "system"),
        ],
      }),
      lines({
        title: "How long scrapes take",
        description: "Past the scrape's timeout Prometheus has nothing at all.",
        unit: "s",
        width: 8,
        queries: [plain("scrape_duration_seconds", "")],
      }),
      lines({
        title: "Series",
        description:
          "How many a scrape shows: a few for each server, unless metrics.per_server is off.",
        unit: "short",
        width: 8,
        queries: [plain("scrape_samples_scraped", "")],
      }),
      lines({
        title: "Open files",
        description: "Connections, the store's files and others, of as many as it may open.",
        unit: "short",
        width: 8,
        queries: [plain("process_open_fds", "open"), plain("process_max_fds", "at most")],
      }),
    ],
  };
}

export function store(): Row {
  return {
    title: "Store",
    panels: [
      lines({
        title: "How long commits take",
        description: "Half of all commits, and one in a hundred, take longer.",
        unit: "s",
        width: 12,
        interval,
        queries: [
          overTime(
            quantile(0.5, "sandwatch_store_commit_duration_seconds", ofInstance, []),
            "half",
          ),
          overTime(
            quantile(0.99, "sandwatch_store_commit_duration_seconds", ofInstance, []),
            "one in a hundred",
          ),
        ],
      }),
      lines({
        title: "Commits",
        description:
          "Polls that the store took, and those that it did not: what these saw came to nothing.",
        unit: "opm",
        width: 12,
        interval,
        queries: [
          overTime(
            `60 * sum(${rate(series("sandwatch_store_commit_duration_seconds_count", ofInstance))})`,
            "taken",
          ),
          overTime(
            `60 * sum(${rate(series("sandwatch_store_commit_failures_total", ofInstance))})`,
            "not taken",
          ),
        ],
      }),
    ],
  };
}

export function configuration(): Row {
  return {
    title: "Configuration",
    panels: [
      timeline(
        {
          title: "Reloads",
          description: "Whether the configuration could be used when it was last read.",
          unit: "short",
          width: 16,
          height: 5,
          queries: [
            overTime(
              `min by (instance) (${series("sandwatch_config_last_reload_successful", ofInstance)})`,
              "{{instance}}",
            ),
          ],
        },
        { mapping: wellnessMapping({ well: "in use", unwell: "refused" }) },
      ),
      stat({
        title: "Age of the configuration",
        description: "Since the configuration in use was read.",
        unit: "s",
        width: 8,
        height: 5,
        queries: [
          atEnd(
            `time() - max(${series("sandwatch_config_last_reload_success_timestamp_seconds", ofInstance)})`,
            "in use for",
          ),
        ],
      }),
    ],
  };
}
