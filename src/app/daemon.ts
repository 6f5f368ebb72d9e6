import { composeAcknowledged } from "../alerts/acknowledgement.ts";
import type { ApiContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { CallApi } from "../api/operation.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { shortId } from "../lib/random.ts";
import { createRegionWatch } from "../polling/region-watch.ts";
import { intervalOf } from "../polling/ticker.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { openCalls, operationCalls } from "./daemon-calls.ts";
import { openCore } from "./daemon-core.ts";
import { createDaemonMetrics } from "./daemon-metrics.ts";
import { openNotifications } from "./daemon-notifications.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";
import { openWeb } from "./daemon-web.ts";
import { createHealth } from "./health.ts";
import { createSlackButtons } from "./slack-buttons.ts";
import { beginStoreUpkeep } from "./store-upkeep.ts";
import { createUpkeep } from "./upkeep.ts";
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

/**
 * Creates the parts of the daemon in order. Each part registers how it is closed; they are closed in reverse order.
 *
 * @throws {StoreError} when the store cannot be used
 */
export async function createDaemon(
  config: Config,
  overrides: DaemonOverrides = {},
): Promise<Daemon> {
  await using opening = new AsyncDisposableStack();
  const core = await openCore(config, overrides, opening);
  const { store, watchdog, clock, judge, suppressions } = core;
  const { reloads, active } = overrides;
  const fleet = await restoreFleet(core);

  const firstRead = { successful: true, successAtMs: clock.now().utcMs };
  const readReload = () => reloads?.last() ?? firstRead;
  const takeOvers = active?.takeOvers ?? 0;
  const connected = new Map<string, boolean>();
  const metrics = createDaemonMetrics({ ...core, fleet, connected, takeOvers, readReload });
  const { drift, ...calls } = await openCalls(core, metrics.service);
  const health = createHealth({ ...core, ...fleet, tookOver: takeOvers > 0 });
  const delivery = openNotifications({
    ...core,
    find: fleet.find,
    observe: metrics.delivery,
    healthProblem: () => health.problem(),
  });
  const { notifier, outbound } = delivery;
  const upkeep = createUpkeep(core);
  upkeep.add([delivery.review]);
  const regions = createRegionWatch({
    ...core,
    targets: configuredTargets(config),
    store: store.regions,
    intervalMs: intervalOf(config.poll.schedule),
  });
  const runners = createFleetRunners({
    ...core,
    ...calls,
    fleet,
    regions,
    metrics: metrics.polls,
  });
  opening.defer(() => delivery.stop());
  opening.defer(() => regions.stop());
  opening.defer(() => drift.stop());
  opening.defer(() => upkeep.stop());
  opening.defer(() => runners.stop());
  // The loops stop after it: while deliveries end, none is silent for being stopped.
  opening.defer(() => watchdog.stop());
  opening.defer(() => notifier.halt());
  await beginStoreUpkeep({ ...core, upkeep, delivery });
  await regions.restore();

  const context: ApiContext = {
    ...delivery.reportContext,
    calls: operationCalls(core, calls),
    targets: fleet.targets,
    probes: fleet.probes,
    rules: judge.rules,
    receivers: [...judge.receivers.keys()],
    suppressions,
    drift,
    newId: overrides.newSilenceId ?? shortId,
    composeAcknowledged: composeAcknowledged(judge.rules, judge.receivers),
    pollNow: runners.pollNow,
  };
  const api = createApi(context, config.keys);
  const web = openWeb({ ...core, context, api, metrics, health, reloads });
  opening.defer(() => web.close());
  const buttons = createSlackButtons({ ...core, context, outbound, connected });
  opening.defer(() => buttons.stop());

  const parts = [delivery, upkeep, runners, watchdog, buttons];
  const serve = (): Promise<string> => web.listen(config.http);
  const watch = (): void => {
    for (const part of parts) part.start();
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
