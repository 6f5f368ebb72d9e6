import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { operations } from "../fleet/model.ts";
import type { Logger } from "../lib/logger.ts";
import { revision, version } from "../lib/version.ts";
import { createMetrics, type Metrics, type MetricsOptions } from "../metrics/metrics.ts";
import { deliveryFailureReasons } from "../notify/receiver.ts";
import { refusalReasons } from "../web/refusals.ts";
import type { Store } from "../store/store.ts";
import type { WatchedFleet } from "./watched-fleet.ts";
import type { Watchdog } from "./watchdog.ts";

interface DaemonMetricsDeps extends Pick<MetricsOptions, "readReload"> {
  readonly config: Config;
  readonly store: Store;
  readonly fleet: WatchedFleet;
  readonly takeOvers: number;
  readonly watchdog: Pick<Watchdog, "loops">;
  readonly log: Logger;
}

export function createDaemonMetrics(deps: DaemonMetricsDeps): Metrics {
  const { config, store, fleet, takeOvers, watchdog, readReload, log } = deps;
  const targets = configuredTargets(config);
  const { leadership } = store;
  return createMetrics({
    targets: fleet.targets,
    probes: fleet.probes,
    regions: config.regions.keys(),
    polledRegions: targets.map(({ region }) => region),
    operations,
    rules: config.alerts.rules,
    receivers: config.alerts.receivers.map(({ name }) => name),
    deliveryFailureReasons,
    refusalReasons,
    build: { version, revision },
    perServer: config.metrics.perServer,
    readOutbox: () => store.outbox.figures(),
    readIncidentsWithoutTarget: () => store.incidentsWithoutTarget.open(),
    readActivity: () => ({ takeOvers, mayActForMs: leadership.remainingMs() }),
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
