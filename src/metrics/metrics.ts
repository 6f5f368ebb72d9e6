import { Registry } from "prom-client";
import { receiverRule } from "../alerts/judge-receivers.ts";
import type { ProbeView } from "../alerts/probe.ts";
import type { Rule } from "../alerts/rule.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import { createDeliveryMetrics } from "./delivery-metrics.ts";
import type { DeliveryMetricsOptions } from "./delivery-metrics.ts";
import { addIncidentGauge } from "./incident-metrics.ts";
import type { IncidentMetricsOptions } from "./incident-metrics.ts";
import { createPollMetrics } from "./poll-metrics.ts";
import { addProbeGauges } from "./probe-metrics.ts";
import { addOwnGauges, processMetrics } from "./process-metrics.ts";
import type { OwnMetricsOptions } from "./process-metrics.ts";
import { createScraper } from "./scrape.ts";
import { createServiceMetrics } from "./service-metrics.ts";

export interface MetricsOptions
  extends
    DeliveryMetricsOptions,
    OwnMetricsOptions,
    Pick<IncidentMetricsOptions, "readUntargeted"> {
  readonly targets: readonly WatchedView[];
  readonly regions: Iterable<string>;
  readonly operations: readonly string[];
  /** Default: there are none. */
  readonly probes?: readonly ProbeView[];
  readonly rules: readonly Rule[];
  /** Whether to expose series for each server and sandbox, or aggregates alone. */
  readonly perServer: boolean;
  /** The store could not be read: a scrape lacks the families that show it. */
  readonly onUnread: (error: Error) => void;
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Every metric of sandwatch. A family of series by target is a literal in `target-families.ts`, one by server in
 * `server-families.ts`; prom-client holds the others.
 */
export function createMetrics(options: MetricsOptions) {
  const registry = new Registry();
  const { targets, rules, perServer, readUntargeted, onUnread } = options;
  const polls = createPollMetrics(registry, targets);
  const service = createServiceMetrics(registry, options.regions, options.operations);
  const delivery = createDeliveryMetrics(registry, options);
  addIncidentGauge(registry, { targets, rules: [...rules, receiverRule], readUntargeted });
  addOwnGauges(registry, options);
  addProbeGauges(registry, options.probes ?? []);
  const scrape = createScraper({
    registry,
    processRegistry: processMetrics(),
    targets,
    countsOf: polls.countsOf,
    perServer,
    onUnread,
  });
  return { polls, service, delivery, scrape };
}
