import { wellness } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { lines, stat, timeline } from "./panels.ts";
import { increase, ofInstance, quantile, rate, series } from "./promql.ts";

const interval = "2m";

/** A metric as it is, by instance. */
function plain(metric: string, what: string): [expr: string, legend: string] {
  return [`max by (instance) (${series(metric, ofInstance)})`, `{{instance}} ${what}`];
}

function seconds(metric: string, what: string): [expr: string, legend: string] {
  return [`sum by (instance) (${rate(series(metric, ofInstance))})`, `{{instance}} ${what}`];
}

export const eventLoopAndMemory: Row = {
  title: "Process",
  panels: [
    lines("Event loop", "s", 8)
      .about(
        "Delay of the event loop: median, 99th percentile, and the largest between two scrapes.",
      )
      .over(...plain("nodejs_eventloop_lag_p50_seconds", "median"))
      .over(...plain("nodejs_eventloop_lag_p99_seconds", "p99"))
      .over(...plain("nodejs_eventloop_lag_max_seconds", "worst")),
    lines("Memory", "bytes", 8)
      .about("Memory of the process, of its heap, and outside the heap, such as buffers.")
      .over(...plain("process_resident_memory_bytes", "resident"))
      .over(...plain("nodejs_heap_size_used_bytes", "heap in use"))
      .over(...plain("nodejs_external_memory_bytes", "outside the heap")),
    lines("CPU", "percentunit", 8)
      .about("CPU time used, in cores.")
      .every(interval)
      .over(...seconds("process_cpu_user_seconds_total", "user"))
      .over(...seconds("process_cpu_system_seconds_total", "system")),
    lines("Duration of scrapes", "s", 8)
      .about("After the timeout of the scrape Prometheus has nothing.")
      .over(...plain("scrape_duration_seconds", "")),
    lines("Series", "short", 8)
      .about("Series of a scrape: several per server, unless metrics.per_server is off.")
      .over(...plain("scrape_samples_scraped", "")),
    lines("Open files", "short", 8)
      .about("Connections, files of the store and others, and the limit.")
      .over(...plain("process_open_fds", "open"))
      .over(...plain("process_max_fds", "at most")),
  ],
};

const commits = "sandwatch_store_commit_duration_seconds";

export const store: Row = {
  title: "Store",
  panels: [
    lines("Duration of commits", "s", 12)
      .about("Duration of commits: median and 99th percentile.")
      .every(interval)
      .over(quantile(0.5, commits, ofInstance, []), "median")
      .over(quantile(0.99, commits, ofInstance, []), "p99"),
    lines("Commits", "opm", 12)
      .about(
        "Polls that changed something and were stored, and polls whose result could not be stored.",
      )
      .every(interval)
      .over(`60 * sum(${rate(series(`${commits}_count`, ofInstance))})`, "taken")
      .over(
        `60 * sum(${rate(series("sandwatch_store_commit_failures_total", ofInstance))})`,
        "not taken",
      ),
  ],
};

/** Which process is active. */
export const processes: Row = {
  title: "Active process and standbys",
  panels: [
    lines("Active", "short", 8)
      .about("1: the process polls, stores and delivers; 0: it stands by.")
      .over(...plain("sandwatch_active", "")),
    lines("Remaining lease", "s", 8)
      .about("How long the active process may go on without renewing its lease on PostgreSQL.")
      .over(...plain("sandwatch_lease_remaining_seconds", "")),
    lines("Take-overs", "short", 8)
      .about("How often each process has become active after it stood by.")
      .every(interval)
      .over(
        `sum by (instance) (${increase(series("sandwatch_take_overs_total", ofInstance))})`,
        "{{instance}}",
      )
      .as({ bars: true, stacked: true }),
  ],
};

const reload = "sandwatch_config_last_reload_success";

export const configuration: Row = {
  title: "Configuration",
  panels: [
    timeline("Reloads", "short", 16)
      .about("Whether the configuration was valid when it was last read.")
      .high(5)
      .over(`min by (instance) (${series(`${reload}ful`, ofInstance)})`, "{{instance}}")
      .as({ mapping: wellness("in use", "refused") }),
    stat("Age of the configuration", "s", 8)
      .about("Time since the configuration in use was read.")
      .high(5)
      .atEnd(`time() - max(${series(`${reload}_timestamp_seconds`, ofInstance)})`, "in use for"),
  ],
};
