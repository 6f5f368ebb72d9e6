import { Gauge, Registry } from "prom-client";
import type { Incident } from "../core/incident.ts";
import type { Verdict } from "../core/judge.ts";
import { receiverRule } from "../core/judge-receivers.ts";
import type { ProbeView } from "../core/probe-view.ts";
import type { Rule } from "../core/rule.ts";
import { createDeliveryMetrics, outboxFamilies } from "./delivery-metrics.ts";
import type { DeliveryMetrics, OutboxView } from "./delivery-metrics.ts";
import { createIncidentMetrics, incidentsFamily } from "./incident-metrics.ts";
import { createLoopMetrics } from "./loop-metrics.ts";
import type { LoopReading } from "./loop-metrics.ts";
import { createProbeMetrics } from "./probe-metrics.ts";
import { createBuildMetric, processMetrics } from "./process-metrics.ts";
import { createReloadMetrics } from "./reload-metrics.ts";
import type { ReloadView } from "./reload-metrics.ts";
import { createSandboxMetrics } from "./sandbox-metrics.ts";
import type { SandboxMetrics } from "./sandbox-metrics.ts";
import { createScraper } from "./scrape.ts";
import type { Scraper } from "./scrape.ts";
import { createServiceMetrics } from "./service-metrics.ts";
import type { ServiceMetrics } from "./service-metrics.ts";
import { createTargetMetrics } from "./target-metrics.ts";
import type { TargetMetrics } from "./target-metrics.ts";
import type { WatchedView } from "../core/watched-view.ts";

export interface MetricsOptions {
  readonly targets: readonly WatchedView[];
  readonly regions: Iterable<string>;
  readonly operations: readonly string[];
  /** Left out: there are none. */
  readonly probes?: readonly ProbeView[];
  readonly rules: readonly Rule[];
  readonly receivers: readonly string[];
  readonly deliveryFailureReasons: readonly string[];
  readonly build: { readonly version: string; readonly revision: string };
  /** Whether to expose series for each server and sandbox, or aggregates alone. */
  readonly perServer: boolean;
  readonly readOutbox: () => Promise<readonly OutboxView[]>;
  /** The open incidents that belong to no target. */
  readonly readUntargeted: () => Promise<readonly Incident[]>;
  readonly readReload: () => ReloadView;
  /** How many rows of the store could not be read since the start, by table. */
  readonly readUnreadable: () => readonly (readonly [table: string, rows: number])[];
  /** Default: there are none. */
  readonly readLoops?: () => readonly LoopReading[];
  /** One of these reads failed: the families that show it are left out of a scrape. */
  readonly onUnread: (error: Error) => void;
}

function createUnreadableMetric(registry: Registry, read: MetricsOptions["readUnreadable"]): void {
  new Gauge({
    name: "sandwatch_store_unreadable_rows",
    help: "Damaged rows of the store that were found since the start, by table; absent without any.",
    labelNames: ["table"],
    registers: [registry],
    collect() {
      for (const [table, rows] of read()) this.set({ table }, rows);
    },
  });
}

export interface Metrics {
  readonly sandboxes: SandboxMetrics;
  readonly targets: TargetMetrics;
  readonly polls: Pick<TargetMetrics, "polled"> & {
    committed(watched: WatchedView, verdict: Verdict, durationMs: number): void;
    lost(): void;
  };
  readonly service: ServiceMetrics;
  readonly delivery: DeliveryMetrics;
  readonly scrape: Scraper;
}

/** Every metric of sandwatch, in registries of its own. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const { targets, perServer } = options;
  const metrics = {
    sandboxes: createSandboxMetrics(targets),
    targets: createTargetMetrics(registry, targets),
    service: createServiceMetrics(registry, options.regions, options.operations),
    delivery: createDeliveryMetrics(registry, {
      receivers: options.receivers,
      failureReasons: options.deliveryFailureReasons,
    }),
  };
  const incidents = createIncidentMetrics(registry, targets, [...options.rules, receiverRule]);
  createBuildMetric(registry, options.build);
  createReloadMetrics(registry, options.readReload);
  createUnreadableMetric(registry, options.readUnreadable);
  createProbeMetrics(registry, options.probes ?? []);
  createLoopMetrics(registry, options.readLoops ?? (() => []));

  const scrape = createScraper({
    registry,
    processRegistry: processMetrics(),
    targetFamilies: [
      ...metrics.sandboxes.families,
      ...metrics.targets.families,
      ...metrics.service.families,
    ],
    perServer,
    targets,
    stored: [
      {
        families: outboxFamilies,
        refresh: async () => metrics.delivery.showOutbox(await options.readOutbox()),
      },
      {
        families: [incidentsFamily],
        refresh: async () => incidents.showUntargeted(await options.readUntargeted()),
      },
    ],
    onUnread: options.onUnread,
  });
  const polls: Metrics["polls"] = {
    polled: (...poll) => metrics.targets.polled(...poll),
    committed(watched, verdict, durationMs) {
      metrics.targets.committed(durationMs);
      metrics.sandboxes.committed(watched, verdict);
    },
    lost: () => metrics.targets.turnFailed(),
  };
  return { ...metrics, polls, scrape };
}
