import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { keyLabels } from "../config/key-labels.ts";
import { notifiedReceivers } from "../config/notified-receivers.ts";
import { composeAcknowledged } from "../alerts/acknowledgement.ts";
import type { Drift } from "../fleet/drift.ts";
import { createRetryBudget, retryShare } from "../lib/retry.ts";
import type { ApiContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { CallApi } from "../api/operation.ts";
import { createDriftWatch } from "../service/drift.ts";
import { restoreSuppressions } from "../api/suppressions.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { systemClock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import { shortId } from "../lib/short-id.ts";
import { userAgent } from "../lib/version.ts";
import { createCommitLoop } from "../polling/commit-loop.ts";
import { KeyLimits } from "../polling/key-limits.ts";
import { createRegionWatch } from "../polling/region-watch.ts";
import { intervalOf } from "../polling/ticker.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { storedSources } from "../reports/report-sources.ts";
import { createServiceClient } from "../service/client.ts";
import { createDaemonMetrics } from "./daemon-metrics.ts";
import { openNotifications } from "./daemon-notifications.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";
import { openDaemonStore } from "./daemon-store.ts";
import { openWeb } from "./daemon-web.ts";
import { createSlackButtons } from "./slack-buttons.ts";
import { createUpkeep } from "./upkeep.ts";
import { createHealth } from "./health.ts";
import { loopsOf, repostLoopName } from "./watch-loops.ts";
import { createStoreUpkeep } from "./store-upkeep.ts";
import { Watchdog } from "./watchdog.ts";
import { createFleetRunners, restoreFleet } from "./watched-fleet.ts";

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
  const commits = createCommitLoop(log);
  await using opening = new AsyncDisposableStack();

  const store = await openDaemonStore(config.store, { ...overrides, clock, log });
  opening.defer(() => store.close());
  const mayAct = (): boolean => store.leadership.mayAct();

  const watchdog = new Watchdog(clock, log);
  for (const loop of loopsOf(config)) watchdog.watch(...loop);

  const suppressions = await restoreSuppressions(store, config.alerts.maintenance, clock);
  const judge = {
    rules: config.alerts.rules,
    goneAfter: config.poll.goneAfter,
    newIncidentId,
    receivers: notifiedReceivers(config),
  };
  const pollIntervalMs = intervalOf(config.poll.schedule);
  const targets = configuredTargets(config);
  const present = { ...judge, suppressions: suppressions.at(clock.now().utcMs) };
  const fleet = await restoreFleet({ config, store, judge: present, clock, commits });
  const composed = composeAcknowledged(config.alerts.rules, judge.receivers);

  const takeOvers = overrides.active?.takeOvers ?? 0;
  const metrics: Metrics = createDaemonMetrics({
    config,
    store,
    fleet,
    takeOvers,
    suppressions,
    clock,
    watchdog,
    readReload: () => reloads?.last() ?? firstRead,
    log,
  });

  const drift = await createDriftWatch({ store: store.drift, clock, log });
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
    mayAct,
    onRequest: (request) => metrics.service.requested(request),
  });
  opening.defer(() => service.close());

  const tookOver = takeOvers > 0;
  const health = createHealth({ config, store, ...fleet, watchdog, clock, tookOver });
  const delivery = openNotifications({
    alerts: config.alerts,
    scheduledReports: config.reports,
    reports: storedSources(store, targets, fleet.find, keyLabels(config)),
    externalUrl: config.http.externalUrl,
    labelsOf: keyLabels(config),
    store,
    opening,
    clock,
    random,
    log,
    observe: metrics.delivery,
    createDispatcher,
    healthProblem: () => health.problem(),
    judge,
    suppressions,
    commits,
    mayAct,
    onRun: (receiver) => watchdog.noteRun("deliveries", receiver),
    onReposted: (receiver) => watchdog.noteRun("deliveries", repostLoopName(receiver)),
  });

  const { notifier } = delivery;
  const onRun = (): void => watchdog.noteRun("upkeep", "upkeep");
  const upkeep = createUpkeep({ clock, log, onRun });
  upkeep.add([delivery.review]);

  const limits = new KeyLimits(clock, config.poll.rateLimit);
  const budget = createRetryBudget(retryShare);
  const apiKeys = new Map(config.keys.map(({ name, apiKey }) => [name, apiKey]));
  const ticking = { clock, wakeAt: overrides.wakeAt, log };
  const running = { limits, clock, random, watchdog, ticking };
  const watching = {
    apiKeys,
    service,
    recordDrift,
    judge,
    suppressions,
    store,
    commits,
    metrics: metrics.polls,
    log,
    clock,
  };
  const regions = createRegionWatch({
    ...watching,
    targets,
    regions: [...config.regions.keys()],
    store: store.regions,
    intervalMs: pollIntervalMs,
  });
  const runners = createFleetRunners({ ...watching, config, fleet, running, budget, regions });
  const storeUpkeep = createStoreUpkeep({
    ...watching,
    config,
    upkeep,
    regions,
    delivery,
  });
  opening.defer(() => delivery.stop());
  opening.defer(() => regions.stop());
  opening.defer(() => drift.stop());
  opening.defer(() => upkeep.stop());
  opening.defer(() => runners.stop());
  // The loops stop after it: while deliveries end, none is silent for being stopped.
  opening.defer(() => watchdog.stop());
  opening.defer(() => notifier.halt());
  await storeUpkeep.begin();
  await regions.restore();

  const callsEnd = new AbortController();
  opening.defer(() => callsEnd.abort());
  const context: ApiContext = {
    ...delivery.reportContext,
    targets: fleet.targets,
    probes: fleet.probes,
    rules: config.alerts.rules,
    receivers: [...judge.receivers.keys()],
    suppressions,
    drift,
    newId: overrides.newSilenceId ?? shortId,
    composeAcknowledged: composed,
    pollNow: runners.pollNow,
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
  const api = createApi(context, config.keys);

  const web = openWeb({
    config,
    context,
    api,
    metrics,
    readiness: () => health.readiness(),
    deadLoop: () => watchdog.deadLoop(),
    reloads,
    log,
  });
  opening.defer(() => web.close());

  const { outbound } = delivery;
  const buttons = createSlackButtons({
    receivers: config.alerts.receivers,
    context,
    outbound,
    random,
  });
  opening.defer(() => buttons.stop());

  const serve = (): Promise<string> => web.listen(config.http);
  const watch = (): void => {
    delivery.start();
    upkeep.start();
    runners.start();
    watchdog.start();
    buttons.start();
  };
  const closing = opening.move();
  return {
    targets: fleet.targets,
    api,
    serve,
    watch,
    async start() {
      const address = await serve();
      watch();
      return address;
    },
    pollOnce: () => runners.pollOnce(),
    async runOnce() {
      await runners.pollOnce();
      await regions.runOnce();
      await runners.probeOnce();
      await upkeep.runOnce();
      await drift.runOnce();
      await notifier.runOnce();
    },
    stop: () => closing.disposeAsync(),
    checkStore: () => store.tryCommit(),
  };
}
