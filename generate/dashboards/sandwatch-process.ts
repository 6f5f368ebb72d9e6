import { wellnessMapping } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import type { Query } from "./queries.ts";
import { lines, stat, timeline } from "./panels.ts";
import { increase, ofInstance, quantile, rate, series } from "./promql.ts";
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
          "Delay of the event loop: median, 99th percentile, and the largest between two scrapes.",
        unit: "s",
        width: 8,
        queries: [
          plain("nodejs_eventloop_lag_p50_seconds", "median"),
          plain("nodejs_eventloop_lag_p99_seconds", "p99"),
          plain("nodejs_eventloop_lag_max_seconds", "worst"),
        ],
      }),
      lines({
        title: "Memory",
        description: "Memory of the process, of its heap, and outside the heap, such as buffers.",
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
        description: "CPU time used, in cores.",
        unit: "percentunit",
        width: 8,
        interval,
        queries: [
          seconds("process_cpu_user_seconds_total", "user"),
          seconds("process_cpu_system_seconds_total", "system"),
        ],
      }),
      lines({
        title: "Duration of scrapes",
        description: "After the timeout of the scrape Prometheus has nothing.",
        unit: "s",
        width: 8,
        queries: [plain("scrape_duration_seconds", "")],
      }),
      lines({
        title: "Series",
        description: "Series of a scrape: several per server, unless metrics.per_server is off.",
        unit: "short",
        width: 8,
        queries: [plain("scrape_samples_scraped", "")],
      }),
      lines({
        title: "Open files",
        description: "Connections, files of the store and others, and the limit.",
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
        title: "Duration of commits",
        description: "Duration of commits: median and 99th percentile.",
        unit: "s",
        width: 12,
        interval,
        queries: [
          overTime(
            quantile(0.5, "sandwatch_store_commit_duration_seconds", ofInstance, []),
            "median",
          ),
          overTime(
            quantile(0.99, "sandwatch_store_commit_duration_seconds", ofInstance, []),
            "p99",
          ),
        ],
      }),
      lines({
        title: "Commits",
        description:
          "Polls that changed something and were stored, and polls whose result could not be stored.",
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

/** Which process is active. */
export function processes(): Row {
  return {
    title: "Active process and standbys",
    panels: [
      lines({
        title: "Active",
        description: "1: the process polls, stores and delivers; 0: it stands by.",
        unit: "short",
        width: 8,
        queries: [plain("sandwatch_active", "")],
      }),
      lines({
        title: "Remaining lease",
        description:
          "How long the active process may go on without renewing its lease on PostgreSQL.",
        unit: "s",
        width: 8,
        queries: [plain("sandwatch_lease_remaining_seconds", "")],
      }),
      lines(
        {
          title: "Take-overs",
          description: "How often each process has become active after it stood by.",
          unit: "short",
          width: 8,
          interval,
          queries: [
            overTime(
              `sum by (instance) (${increase(series("sandwatch_take_overs_total", ofInstance))})`,
              "{{instance}}",
            ),
          ],
        },
        { bars: true, stacked: true },
      ),
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
          description: "Whether the configuration was valid when it was last read.",
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
        description: "Time since the configuration in use was read.",
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
