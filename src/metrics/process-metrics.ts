import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** Gauges that are named like counters, which Prometheus's linter objects to. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** Each look wakes the process: at 10 ms, the usual, that alone took nearly a hundredth of a CPU. */
const eventLoopMonitoringPrecision = 50;

let ofProcess: Registry | null = null;

/**
 * The process itself: CPU, memory, event loop. There is one registry of it, whoever asks: what watches the
 * process goes on for as long as that runs. All of them are collected or none: some are only set while
 * others are.
 */
export function processMetrics(): Registry {
  if (ofProcess) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision });
  for (const name of misnamed) ofProcess.removeSingleMetric(name);
  return ofProcess;
}

/** Which build it is. */
export function createBuildMetric(
  registry: Registry,
  build: { readonly version: string; readonly revision: string },
): void {
  new Gauge({
    name: "sandwatch_build_info",
    help: "The running version; always 1.",
    labelNames: ["version", "revision", "node_version"],
    registers: [registry],
  }).set({ ...build, node_version: process.version }, 1);
}
