import type { HeldSuppressions } from "../api/suppressions.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { isInForce } from "../alerts/silence.ts";
import { operations } from "../fleet/model.ts";
import { revision, version } from "../lib/version.ts";
import type { SuppressionView } from "../metrics/incident-gauges.ts";
import { createMetrics, type Metrics, type MetricsOptions } from "../metrics/metrics.ts";
import { deliveryFailureReasons } from "../notify/receiver.ts";
import { refusalReasons } from "../web/refusals.ts";
import type { DaemonCore } from "./daemon-core.ts";
import type { WatchedFleet } from "./watched-fleet.ts";

interface DaemonMetricsDeps extends DaemonCore, Pick<MetricsOptions, "connected" | "readReload"> {
  readonly fleet: WatchedFleet;
  readonly takeOvers: number;
}

export function createDaemonMetrics(deps: DaemonMetricsDeps): Metrics {
  const { config, store, fleet, takeOvers, suppressions, clock } = deps;
  const { watchdog, connected, readReload, log } = deps;
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
    keys: config.keys,
    readSuppressions: () => viewSuppressions(suppressions, clock.now().utcMs),
    connected,
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

function viewSuppressions(suppressions: HeldSuppressions, atMs: number): SuppressionView {
  const open = suppressions.openSilences(atMs);
  const active = open.filter((silence) => isInForce(silence, atMs)).length;
  return {
    acknowledgedBy: suppressions.at(atMs).acknowledgedBy,
    silences: { active, pending: open.length - active },
    windows: suppressions.windows.map((window) => ({
      name: window.name,
      isOpen: window.openingAt(atMs) !== null,
    })),
  };
}
