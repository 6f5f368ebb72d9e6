import type { ForgetContext, HistoryContext, Needs, StoreContext } from "../api/context.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { keyLabels } from "../alerts/notification.ts";
import { targetName } from "../fleet/model.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import { initialProbeProgress, subjectName, subjectsOf } from "../alerts/probe.ts";
import { nothingKnown } from "../alerts/target-state.ts";
import { restoreSuppressions } from "../api/suppressions.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import { userAgent } from "../lib/version.ts";
import { KeyLimits } from "../polling/key-limits.ts";
import { intervalOf } from "../polling/ticker.ts";
import { watchProbe, type WatchedProbe } from "../polling/watched-probe.ts";
import { watchTarget, type WatchedTarget } from "../polling/watched-target.ts";
import { storedSources } from "../reports/report-sources.ts";
import { createServiceClient } from "../service/client.ts";
import { openConfiguredReadOnly, openConfiguredStore } from "../store/store.ts";
import type { Store, StoreOptions } from "../store/store.ts";

/** What operations of the API need where no daemon answers them. */
export interface Offline<Context> extends AsyncDisposable {
  readonly context: Context;
}

export interface OfflineOptions extends Pick<StoreOptions, "onUnreadableRow"> {
  readonly clock?: Clock | undefined;
}

/**
 * Opens the store read-only, for operations that only read. Nothing of the configuration is applied to
 * what is stored.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export async function openForQueries(
  config: Config,
  { clock = systemClock, onUnreadableRow }: OfflineOptions = {},
): Promise<Offline<StoreContext>> {
  const store = await openConfiguredReadOnly(config.store, { onUnreadableRow });
  try {
    const context = await createContext(config, store, clock);
    return { context, [Symbol.asyncDispose]: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Opens the store to delete the history of a key.
 *
 * @throws {StoreError} when there is no such store, it cannot be used, or a daemon runs on it
 */
export async function openForForgetting(config: Config): Promise<Offline<ForgetContext>> {
  const store = await openConfiguredStore(config.store, undefined, { mustExist: true });
  const targets = configuredTargets(config).map((target) => ({ target }));
  const log = createLogger({ level: "silent", format: "json" });
  const context = { store, targets, clock: systemClock, log };
  return { context, [Symbol.asyncDispose]: () => store.close() };
}

/**
 * Opens the history of a store read-only for reports, also beside a daemon that runs on it.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export async function openForReports(
  config: Config,
  { clock = systemClock, onUnreadableRow }: OfflineOptions = {},
): Promise<Offline<HistoryContext>> {
  const store = await openConfiguredReadOnly(config.store, { onUnreadableRow });
  const reports = storedSources(store, configuredTargets(config), undefined, keyLabels(config));
  return { context: { reports, clock }, [Symbol.asyncDispose]: () => store.close() };
}

/** Calls the service itself, for operations that need no store. */
export function openService(
  {
    regions,
    keys,
    poll,
  }: Pick<Config, "regions" | "keys"> & {
    readonly poll: Pick<Config["poll"], "timeoutMs" | "maxBodyBytes" | "rateLimit">;
  },
  clock: Clock = systemClock,
): Offline<Needs<"calls">> {
  const { timeoutMs, maxBodyBytes, rateLimit } = poll;
  const ending = new AbortController();
  const service = createServiceClient({ regions, timeoutMs, maxBodyBytes, userAgent, clock });
  return {
    context: {
      calls: {
        service,
        recordDrift() {},
        limits: new KeyLimits(clock, rateLimit),
        targets: configuredTargets({ keys }),
        keys,
        clock,
        maxBodyBytes,
        signal: ending.signal,
        inProgress: { lookups: 0, checks: 0 },
      },
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await service.close();
    },
  };
}

async function createContext(config: Config, store: Store, clock: Clock): Promise<StoreContext> {
  const { rules, receivers, maintenance } = config.alerts;
  const nowMs = clock.now().utcMs;
  const targets = await readTargets(config, store, nowMs);
  return {
    store,
    reports: storedSources(
      store,
      configuredTargets(config),
      (target) => targets.get(targetName(target)),
      keyLabels(config),
    ),
    targets: [...targets.values()],
    probes: await readProbes(config, store),
    rules,
    receivers: receivers.filter(({ type }) => type !== "heartbeat").map(({ name }) => name),
    suppressions: await restoreSuppressions(store, maintenance, clock),
    drift: { records: () => store.drift.all() },
    clock,
  };
}

/** The configured targets as they are stored, by their names. One that is not stored was never polled. */
async function readTargets(
  config: Config,
  { targets: stored }: Store,
  nowUtcMs: number,
): Promise<ReadonlyMap<string, WatchedTarget>> {
  const { staleAfter, schedule } = config.poll;
  const options = { staleAfter, restoredForMs: staleAfter * intervalOf(schedule), nowUtcMs };
  const watched = new Map(
    configuredTargets(config).map((target) => {
      const unknown = { id: 0, target, ...nothingKnown };
      return [targetName(target), watchTarget(unknown, emptySnapshot, options)];
    }),
  );
  const names = await stored.names();
  const found = await stored.some(names.filter(({ target }) => watched.has(targetName(target))));
  const byId = new Map(found.map((each) => [each.id, each]));
  for await (const [id, snapshot] of stored.snapshotsOf(found)) {
    const each = byId.get(id);
    if (each) watched.set(targetName(each.target), watchTarget(each, snapshot, options));
  }
  return watched;
}

async function readProbes(config: Config, { probes }: Store): Promise<readonly WatchedProbe[]> {
  const stored = new Map((await probes.all()).map((each) => [subjectName(each.subject), each]));
  return config.probes.flatMap((probe) =>
    subjectsOf(probe).map((subject) => {
      const unknown = { id: 0, subject, progress: initialProbeProgress, flaps: [] };
      const known = stored.get(subjectName(subject)) ?? unknown;
      return watchProbe(probe, { ...known, openIncidents: [] }, config.poll.staleAfter);
    }),
  );
}
