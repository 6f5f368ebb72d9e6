import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { composeAcknowledged } from "../alerts/acknowledgement.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Drift } from "../fleet/drift.ts";
import { operations, targetName } from "../fleet/model.ts";
import { createRetryBudget, retryShare } from "../lib/retry.ts";
import type { ApiContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { CallApi } from "../api/operation.ts";
import { readEvents } from "../api/operations/events.ts";
import { listReplicas } from "../api/operations/replicas.ts";
import { deliveryFailureReasons } from "../notify/receiver.ts";
import { createDriftWatch } from "../service/drift.ts";
import { restoreSuppressions } from "../api/suppressions.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { systemClock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import { shortId } from "../lib/short-id.ts";
import { revision, userAgent, version } from "../lib/version.ts";
import { logIncidents } from "../polling/incident-log.ts";
import { createKeyLimits } from "../polling/key-limits.ts";
import { createProbeUnits, type Answered, type ProbeDecision } from "../polling/probe-unit.ts";
import {
  restorePools,
  restoreProbes,
  restoreTargets,
  retireUnconfigured,
} from "../polling/restore.ts";
import { createRegionWatch } from "../polling/region-watch.ts";
import { createRunner } from "../polling/runner.ts";
import { createTargetUnits, type Listed, type PollDecision } from "../polling/target-unit.ts";
import { intervalOf } from "../polling/ticker.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { storedSources } from "../reports/report-sources.ts";
import type { Store } from "../store/store.ts";
import { createServiceClient } from "../service/client.ts";
import { openNotifications } from "./daemon-notifications.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";
import { openDaemonStore } from "./daemon-store.ts";
import { createUpkeep, retentionChores, upkeepEveryMs } from "./upkeep.ts";
import { createFleetView } from "./fleet-view.ts";
import { checkReadiness, findHealthProblem } from "./health.ts";
import { loopsByUnit, repostLoopName } from "./watch-loops.ts";
import { createWatchdog } from "./watchdog.ts";
import { createAccessControl } from "../web/access.ts";
import { createWebServer } from "../web/server.ts";

export interface Daemon {
  readonly targets: readonly WatchedTarget[];
  /** Calls operations of its API in this process, also while it neither serves nor polls. */
  readonly api: CallApi;
  /** Serves from now on, without polling. Gives the address to open. */
  serve(): Promise<string>;
  /** Polls and delivers from now on, without serving. */
  watch(): void;
  /** Serves, polls and delivers from now on. Gives the address to open. */
  start(): Promise<string>;
  /** Polls every target once, outside any schedule. Messages go out later. */
  pollOnce(): Promise<void>;
  /** Polls every target once, and runs everything else that is due: probes, upkeep, deliveries. */
  runOnce(): Promise<void>;
  /** Rejects when the store takes no commits at present: then a stop may lose what is under way. */
  checkStore(): Promise<void>;
  /** Ends polling, lets commits finish, gives deliveries five seconds, closes everything. */
  stop(): Promise<void>;
}

/** Limit for calls that API operations make: parsing a larger response would block the event loop for too long. */
const maxCalledBodyBytes = 8 * 2 ** 20;

/**
 * Creates the parts of the daemon in order. Each part registers how it is closed; they are closed in reverse order.
 *
 * @throws {StoreError} when the store cannot be used
 */
export async function createDaemon(
  config: Config,
  overrides: DaemonOverrides = {},
): Promise<Daemon> {
  const { clock = systemClock, random = Math.random, createDispatcher, reloads } = overrides;
  const { newIncidentId = shortId } = overrides;
  const log = overrides.log ?? createLogger(config.log);
  const firstRead = { successful: true, successAtMs: clock.now().utcMs };
  const onUntargeted = (outcome: IncidentOutcome): void => void logIncidents(log, null, outcome);
  await using opening = new AsyncDisposableStack();

  const store = await openDaemonStore(config.store, { ...overrides, clock, log });
  opening.defer(() => store.close());

  const watchdog = createWatchdog(clock, log);
  watchdog.watch("upkeep", "upkeep", upkeepEveryMs);
  for (const loops of loopsByUnit(config).values()) {
    for (const loop of loops) watchdog.watch(...loop);
  }

  const notified = config.alerts.receivers.filter(({ type }) => type !== "heartbeat");
  const notifiedReceivers = notified.map(({ name }) => name);
  const { maintenance } = config.alerts;
  const startMs = clock.now().utcMs;
  const suppressions = await restoreSuppressions(store, maintenance, clock);
  const judge = {
    rules: config.alerts.rules,
    goneAfter: config.poll.goneAfter,
    newIncidentId,
    receivers: new Map(notified.map((receiver) => [receiver.name, receiver])),
  };
  const pollIntervalMs = intervalOf(config.poll.schedule);
  const { staleAfter } = config.poll;
  const restoredForMs = staleAfter * pollIntervalMs;
  const restore = {
    // What ends because it is not configured any more does so whatever is silenced.
    judge: { ...judge, suppressions: { ...suppressions.at(startMs), version: null } },
    staleAfter,
    restoredForMs,
    nowUtcMs: startMs,
    log,
  };
  const { targets, pools, probes } = await restoreConfigured(store, config, restore);
  const fleet = createFleetView(config.cluster ? { config, store, clock } : null);
  fleet.gain({ targets, probes });

  const composed = composeAcknowledged(config.alerts.rules, judge.receivers);
  await store.acknowledgements.notifyPending(composed);

  const metrics = createMetrics({
    targets,
    probes,
    regions: config.regions.keys(),
    operations,
    rules: config.alerts.rules,
    receivers: config.alerts.receivers.map(({ name }) => name),
    deliveryFailureReasons,
    build: { version, revision },
    perServer: config.metrics.perServer,
    readOutbox: () => store.outbox.figures(),
    readIncidentsWithoutTarget: () => store.incidentsWithoutTarget.open(),
    readReload: () => reloads?.last() ?? firstRead,
    checkStore: () => store.check(),
    readUnreadable: () => [...store.unreadable].map(([table, rows]) => [table, rows.size]),
    readLoops: () => watchdog.loops(),
    onUnread: (err) =>
      log.error(
        { event: "http.incomplete", err },
        "a scrape lacks families because the store could not be read",
      ),
  });

  const drift = await createDriftWatch({ store: store.drift, clock, log });
  opening.defer(() => drift.stop());
  const recordDrift = (found: Drift): void => {
    metrics.service.deviated(found);
    drift.add(found);
  };

  const service = createServiceClient({
    regions: config.regions,
    timeoutMs: config.poll.timeoutMs,
    maxBodyBytes: config.poll.maxBodyBytes,
    userAgent,
    clock,
    createDispatcher,
    onRequest: (request) => metrics.service.requested(request),
  });
  opening.defer(() => service.close());

  const { notifier, chores, reportContext, ...delivery } = await openNotifications({
    alerts: config.alerts,
    scheduledReports: config.reports,
    reports: storedSources(store, configuredTargets(config), fleet.find),
    externalUrl: config.http.externalUrl,
    store,
    opening,
    clock,
    random,
    log,
    observe: metrics.delivery,
    createDispatcher,
    healthProblem: () => findHealthProblem({ config, store, targets, probes, watchdog, clock }),
    judge,
    suppressions,
    onIncidents: onUntargeted,
    onRun: (receiver) => watchdog.turn("deliveries", receiver),
    onReposted: (receiver) => watchdog.turn("deliveries", repostLoopName(receiver)),
  });

  const upkeep = createUpkeep({
    chores: [...chores, ...retentionChores(store, config.history, clock, notifiedReceivers)],
    clock,
    log,
    onTurn: () => watchdog.turn("upkeep", "upkeep"),
  });
  opening.defer(() => upkeep.stop());

  const limits = createKeyLimits(clock, config.poll.rateLimit);
  const budget = createRetryBudget(retryShare);
  const apiKeys = new Map(config.keys.map(({ name, apiKey }) => [name, apiKey]));
  const ticking = { clock, wakeAt: overrides.wakeAt, log };
  const running = { limits, clock, random, watchdog, store, ticking };
  const units = {
    apiKeys,
    service,
    recordDrift,
    judge,
    suppressions,
    store,
    notifier,
    metrics: metrics.polls,
    log,
    clock,
  };
  const { schedule } = config.poll;
  const regions = createRegionWatch({
    ...units,
    targets: configuredTargets(config),
    store: store.regions,
    intervalMs: pollIntervalMs,
  });
  opening.defer(() => regions.stop());
  await regions.gain([...config.regions.keys()]);
  await regions.retireOthers(config.regions.keys());
  const onFenced = metrics.cluster.fenced;
  const judging = { ...units, schedule, pools, regions, onFenced };
  const targetUnits = createTargetUnits(targets, judging);
  const polling = createRunner<Listed, PollDecision>({ ...running, loop: "polls", budget });
  polling.add(targetUnits);
  opening.defer(() => polling.stop());
  const probing = createRunner<Answered, ProbeDecision>({
    ...running,
    loop: "probes",
    budget: createRetryBudget(retryShare),
  });
  probing.add(createProbeUnits(probes, { ...units, targets, regions }));
  opening.defer(() => probing.stop());
  // The loops stop after it: while deliveries end, none is silent for being stopped.
  opening.defer(() => watchdog.stop());

  const callsEnd = new AbortController();
  opening.defer(() => callsEnd.abort());
  const context: ApiContext = {
    ...reportContext,
    ...fleet.all,
    rules: config.alerts.rules,
    receivers: notifiedReceivers,
    suppressions,
    drift,
    newId: overrides.newSilenceId ?? shortId,
    composeAcknowledged: composed,
    async pollNow(target) {
      const unit = targetUnits.find((each) => each.name === targetName(target));
      if (unit) await polling.runNow(unit);
    },
    service,
    recordDrift,
    limits,
    budget,
    keys: config.keys,
    pollIntervalMs,
    maxBodyBytes: maxCalledBodyBytes,
    signal: callsEnd.signal,
    inProgress: { lookups: 0, checks: 0 },
  };
  const api = createApi(context, fleet.refresh);

  const web = createWebServer({
    metrics,
    readiness: () => checkReadiness(store, targets, watchdog),
    deadLoop: () => watchdog.deadLoop(),
    async status() {
      await fleet.refresh();
      const nowMs = clock.now().utcMs;
      return {
        ...fleet.all,
        rules: config.alerts.rules,
        receivers: notifiedReceivers,
        incidentsWithoutTarget: await store.incidentsWithoutTarget.open(),
        silences: suppressions.inForce(nowMs),
        acknowledgedBy: suppressions.at(nowMs).acknowledgedBy,
        waiting: await store.outbox.figures(),
        replicas: (await api(listReplicas, {})).replicas,
      };
    },
    targets: fleet.all.targets,
    api: { call: api, events: (query) => readEvents(api, query) },
    requestReload: reloads && (() => reloads.request()),
    allowedHosts: config.http.allowedHosts,
    externalUrl: config.http.externalUrl,
    access: createAccessControl(config.http.auth, clock),
    tls: config.http.tls,
    log,
    clock,
    onSlowScrape: () =>
      log.warn(
        { event: "http.slow_scrape" },
        "a scrape was cut off: it was read too slowly, or another client needed its place",
      ),
    onFull: (connections) =>
      log.warn(
        { event: "http.full", connections },
        "a connection was refused because all connections are in use",
      ),
    onError: (err) => log.error({ event: "http.failed", err }, "a request failed"),
  });
  opening.defer(() => web.close());

  const serve = (): Promise<string> => web.listen(config.http);
  const watch = (): void => {
    delivery.start();
    upkeep.start();
    polling.start();
    probing.start();
    watchdog.start();
  };
  const closing = opening.move();
  return {
    targets,
    api,
    serve,
    watch,
    async start() {
      const address = await serve();
      watch();
      return address;
    },
    pollOnce: () => polling.runOnce(),
    async runOnce() {
      await polling.runOnce();
      await regions.runOnce();
      await probing.runOnce();
      await upkeep.runOnce();
      await drift.runOnce();
      await notifier.runOnce();
    },
    stop: () => closing.disposeAsync(),
    checkStore: () => store.tryCommit(),
  };
}

async function restoreConfigured(
  store: Store,
  config: Config,
  restore: Parameters<typeof restoreTargets>[2],
) {
  const configured = configuredTargets(config);
  const keys = new Set(config.keys.map(({ name }) => name));
  const targets = await restoreTargets(store, configured, restore);
  const pools = await restorePools(store, configured, restore);
  const probes = await restoreProbes(store, config.probes, keys, restore);
  await retireUnconfigured(store, configured, config.probes, restore);
  return { targets, pools, probes };
}
