import type { ApiContext } from "../api/context.ts";
import { readEvents } from "../api/operations/events.ts";
import { showStatus } from "../api/operations/status.ts";
import type { CallApi } from "../api/operation.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createAccessControl } from "../web/access.ts";
import { reportRefusals } from "../web/refusals.ts";
import type { Readiness } from "../web/health-routes.ts";
import { createWebServer } from "../web/server.ts";
import type { DaemonCore } from "./daemon-core.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";
import { createPagerdutyEvents } from "./pagerduty-events.ts";

interface WebPartsDeps extends DaemonCore {
  readonly metrics: Metrics;
  readonly health: { readonly readiness: () => Promise<Readiness> };
  readonly context: ApiContext;
  readonly api: CallApi;
  readonly reloads: DaemonOverrides["reloads"];
}

/** The daemon's HTTP server. */
export function openWeb(deps: WebPartsDeps) {
  const { config, store, suppressions, clock, watchdog } = deps;
  const { context, api, reloads, metrics, health } = deps;
  const { targets, probes, rules, receivers } = context;
  return createWebServer({
    metrics,
    readiness: () => health.readiness(),
    deadLoop: () => watchdog.deadLoop(),
    async status() {
      const nowMs = clock.now().utcMs;
      return {
        targets,
        probes,
        rules,
        receivers,
        incidentsWithoutTarget: await store.incidentsWithoutTarget.open(),
        silences: suppressions.inForce(nowMs),
        acknowledgedBy: suppressions.at(nowMs).acknowledgedBy,
        waiting: await store.outbox.figures(),
        undelivered: await store.outbox.undelivered(),
        processes: (await api(showStatus, {})).processes,
      };
    },
    targets,
    keys: config.keys,
    api: {
      call: api,
      events: (query) => readEvents(api, query),
      receiveWebhook: createPagerdutyEvents(config.alerts.receivers, context),
    },
    requestReload: reloads && (() => reloads.request()),
    ...webSettings(deps, metrics.http.refused),
  });
}

/** What the HTTP servers of an active process and of a standby have in common. */
export function webSettings(
  { config: { http }, clock, log }: Pick<DaemonCore, "config" | "clock" | "log">,
  count: Parameters<typeof reportRefusals>[0]["count"] = () => {},
) {
  const { allowedHosts, externalUrl, trustedProxies, tls } = http;
  return {
    allowedHosts,
    externalUrl,
    trustedProxies,
    access: createAccessControl(http.auth, clock),
    tls,
    log,
    clock,
    onRefused: reportRefusals({ log, clock, count }),
    onSlowScrape: () =>
      log.warn(
        { event: "http.slow_scrape" },
        "a scrape was cut off: it was read too slowly, or another client needed its place",
      ),
    onFull: (connections: number) =>
      log.warn(
        { event: "http.full", connections },
        "a connection was refused because all connections are in use",
      ),
    onError: (err: Error) => log.error({ event: "http.failed", err }, "a request failed"),
  };
}
