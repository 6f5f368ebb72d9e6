import { collectDefaultMetrics, Registry } from "prom-client";
import { addGauge } from "./gauge.ts";

/** Gauges that are named like counters, which Prometheus's linter objects to. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** Each sample wakes the process: at 10 ms, the default, that alone took nearly a hundredth of a CPU. */
const eventLoopMonitoringPrecision = 50;

let ofProcess: Registry | null = null;

/**
 * CPU, memory and event loop of the process. One registry for all: what it starts goes on for as long as the process.
 */
export function processMetrics(): Registry {
  if (ofProcess) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision });
  for (const name of misnamed) ofProcess.removeSingleMetric(name);
  return ofProcess;
}

/** How the configuration was last read. */
export interface ReloadView {
  readonly successful: boolean;
  /** UTC milliseconds. */
  readonly successAtMs: number;
}

/** A loop that must go on. */
export interface LoopReading {
  readonly loop: string;
  /** UTC milliseconds. */
  readonly lastTurnAtMs: number;
  /** UTC milliseconds. */
  readonly nextTurnAtMs: number;
  readonly intervalMs: number;
}

export interface OwnMetricsOptions {
  readonly build: { readonly version: string; readonly revision: string };
  readonly readReload: () => ReloadView;
  /** How many rows of the store could not be read since the start, by table. */
  readonly readUnreadable: () => readonly (readonly [table: string, rows: number])[];
  /** Default: there are none. */
  readonly readLoops?: () => readonly LoopReading[];
}

/** What sandwatch says of itself. */
export function addOwnGauges(
  registry: Registry,
  { build, readReload, readUnreadable, readLoops = () => [] }: OwnMetricsOptions,
): void {
  addGauge(registry, {
    name: "sandwatch_build_info",
    help: "The running version; always 1.",
    labels: ["version", "revision", "node_version"],
    read: () => [[{ ...build, node_version: process.version }, 1]],
  });
  addGauge(registry, {
    name: "sandwatch_config_last_reload_successful",
    help: "Whether the configuration was valid when it was last read.",
    labels: [],
    read: () => [[{}, Number(readReload().successful)]],
  });
  addGauge(registry, {
    name: "sandwatch_config_last_reload_success_timestamp_seconds",
    help: "When the configuration in use was read, in seconds since 1970.",
    labels: [],
    read: () => [[{}, readReload().successAtMs / 1_000]],
  });
  addGauge(registry, {
    name: "sandwatch_store_unreadable_rows",
    help: "Damaged rows of the store that were found since the start, by table; absent without any.",
    labels: ["table"],
    read: () => readUnreadable().map(([table, rows]) => [{ table }, rows]),
  });
  addGauge(registry, {
    name: "sandwatch_loop_last_turn_timestamp_seconds",
    help: "When a loop last ran, in seconds since 1970; of several parts, the most overdue one.",
    labels: ["loop"],
    read: () => readLoops().map(({ loop, lastTurnAtMs }) => [{ loop }, lastTurnAtMs / 1_000]),
  });
  addGauge(registry, {
    name: "sandwatch_loop_next_turn_timestamp_seconds",
    help: "When the run after that is due by the loop's schedule, in seconds since 1970.",
    labels: ["loop"],
    read: () => readLoops().map(({ loop, nextTurnAtMs }) => [{ loop }, nextTurnAtMs / 1_000]),
  });
  addGauge(registry, {
    name: "sandwatch_loop_interval_seconds",
    help: "The usual interval between two runs of the loop.",
    labels: ["loop"],
    read: () => readLoops().map(({ loop, intervalMs }) => [{ loop }, intervalMs / 1_000]),
  });
}
