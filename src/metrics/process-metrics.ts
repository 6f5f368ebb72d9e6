import { collectDefaultMetrics, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** Gauges that are named like counters, which Prometheus's linter objects to. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/**
 * The process itself: CPU, memory, event loop, and which build it is.
 *
 * @param registry its own: some of these metrics are only set while others are collected
 */
export function createProcessMetrics(
  registry: Registry,
  build: { readonly version: string; readonly revision: string },
): void {
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);

  new Gauge({
    name: "sandwatch_build_info",
    help: "The version that runs, always 1.",
    labelNames: ["version", "revision", "node_version"],
    registers: [registry],
  }).set({ ...build, node_version: process.version }, 1);
}
