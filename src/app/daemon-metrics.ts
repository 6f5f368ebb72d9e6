import { upkeepUnit } from "../cluster/assignment.ts";
import type { Ownership } from "../cluster/ownership.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { operations } from "../fleet/model.ts";
import type { Logger } from "../lib/logger.ts";
import { revision, version } from "../lib/version.ts";
import { createMetrics, type Metrics, type MetricsOptions } from "../metrics/metrics.ts";
import { deliveryFailureReasons } from "../notify/receiver.ts";
import type { Store } from "../store/store.ts";
import { readReplicas } from "./daemon-cluster.ts";
import { refusalReasons } from "../web/refusals.ts";
import type { FleetView } from "./fleet-view.ts";
import type { Watchdog } from "./watchdog.ts";

interface DaemonMetricsDeps extends Pick<MetricsOptions, "readReload"> {
  readonly config: Config;
  readonly store: Store;
  readonly fleet: FleetView;
  readonly ownership: Ownership;
  readonly watchdog: Pick<Watchdog, "loops">;
  readonly log: Logger;
}

/** Metrics of what this process owns. What is the same for the whole store is shown by the owner of upkeep. */
export function createDaemonMetrics(deps: DaemonMetricsDeps): Metrics {
  const { config, store, fleet, ownership, watchdog, readReload, log } = deps;
  const targets = configuredTargets(config);
  return createMetrics({
    ...fleet.own,
    regions: config.regions.keys(),
    polledRegions: targets.map(({ region }) => region),
    operations,
    rules: config.alerts.rules,
    receivers: config.alerts.receivers.map(({ name }) => name),
    deliveryFailureReasons,
    refusalReasons,
    build: { version, revision },
    perServer: config.metrics.perServer,
    readOutbox: async () => (ownership.owns(upkeepUnit) ? store.outbox.figures() : null),
    readIncidentsWithoutTarget: async () =>
      ownership.owns(upkeepUnit) ? store.incidentsWithoutTarget.open() : [],
    ...(config.cluster && {
      readCluster: () => ({ ...readReplicas(ownership), configuredTargets: targets.length }),
    }),
    readReload,
    checkStore: () => store.check(),
    readUnreadable: () => [...store.unreadable].map(([table, rows]) => [table, rows.size]),
    readLoops: () => watchdog.loops(),
    onUnread: (err) =>
      log.error(
        { event: "http.incomplete", err },
        "a scrape lacks families because the store could not be read",
      ),
  });
}
