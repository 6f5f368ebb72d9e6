import { randomUUID } from "node:crypto";
import type { Config } from "./config/config.ts";
import { configuredTargets } from "./config/configured-targets.ts";
import type { ConformanceDesk } from "./conformance/conformance-desk.ts";
import type { Incident } from "./core/incident.ts";
import { targetName } from "./core/model.ts";
import type { Target } from "./core/model.ts";
import { initialProbeProgress } from "./core/probe-progress.ts";
import { subjectName, subjectsOf } from "./core/probe.ts";
import { createRetryBudget, retryShare } from "./core/retry.ts";
import { nothingKnown } from "./core/target-state.ts";
import type { WatchedView } from "./core/watched-view.ts";
import { createDaemonCalls } from "./daemon-calls.ts";
import { freshTimes } from "./notify/retry.ts";
import { emptySnapshot } from "./fleet/snapshot.ts";
import { createDesk } from "./interventions/desk.ts";
import type { AlertDesk } from "./interventions/desk.ts";
import { createDriftDesk } from "./interventions/drift-desk.ts";
import type { DriftDesk } from "./interventions/drift-desk.ts";
import { restoreInterventions } from "./interventions/interventions.ts";
import { systemClock } from "./platform/clock.ts";
import type { Clock } from "./platform/clock.ts";
import { createLogger } from "./platform/logger.ts";
import { userAgent } from "./platform/version.ts";
import { createKeyLimits } from "./polling/key-limits.ts";
import { intervalOf } from "./polling/ticker.ts";
import { watchTarget } from "./polling/watched-target.ts";
import { watchProbe } from "./polling/watched-probe.ts";
import type { WatchedProbe } from "./polling/watched-probe.ts";
import { createServiceClient } from "./service/client.ts";
import { openStore, openStoreReadOnly } from "./store/store.ts";
import type { Store } from "./store/store.ts";

/** The operations that a store answers while no daemon runs on it. */
export type StoredOperations = AlertDesk & DriftDesk;

/** Those of them that only read. */
export type StoredQueries = Omit<
  StoredOperations,
  "addSilence" | "expireSilence" | "acknowledge" | "replay" | "discard"
>;

export interface Offline<Operations> {
  readonly operations: Operations;
  close(): Promise<void>;
}

/**
 * Answers queries from the store, which is opened read-only: nothing of the configuration is applied to
 * what is stored.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export function openForQueries(
  config: Config,
  clock: Clock = systemClock,
): Promise<Offline<StoredQueries>> {
  return openOffline(config, openStoreReadOnly(config.store.path), clock);
}

/**
 * The same with the operations that write. Each writes what it says and nothing else; what follows from
 * that is left to the daemon.
 *
 * @throws {StoreError} when there is no such store, it cannot be used, or a daemon runs on it
 */
export function openForChanges(
  config: Config,
  clock: Clock = systemClock,
): Promise<Offline<StoredOperations>> {
  const store = openStore(config.store.path, undefined, { mustExist: true });
  return openOffline(config, store, clock);
}

/** Asks the service itself, for what needs no store. */
export function openService(config: Config, clock: Clock = systemClock): Offline<ConformanceDesk> {
  const service = createServiceClient({
    regions: config.regions,
    timeoutMs: config.poll.timeoutMs,
    maxBodyBytes: config.poll.maxBodyBytes,
    userAgent,
    clock,
  });
  const calls = createDaemonCalls({
    config,
    service,
    limits: createKeyLimits(clock, config.poll.rateLimit),
    budget: createRetryBudget(retryShare),
    clock,
    pollIntervalMs: intervalOf(config.poll.schedule),
  });
  return {
    operations: calls.conformance,
    async close() {
      calls.close();
      await service.close();
    },
  };
}

async function openOffline(
  config: Config,
  store: Store,
  clock: Clock,
): Promise<Offline<StoredOperations>> {
  try {
    const operations = await createOperations(config, store, clock);
    return { operations, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function createOperations(
  config: Config,
  store: Store,
  clock: Clock,
): Promise<StoredOperations> {
  const { rules, receivers, maintenance } = config.alerts;
  const drift = await store.drift.all();
  const giveUpAfterMs = new Map(receivers.map((each) => [each.name, each.giveUpAfterMs]));
  const nowMs = (): number => clock.now().utcMs;
  const alerts = createDesk({
    store,
    notifications: {
      ...store.notifications,
      replay: (which) =>
        store.notifications.replay(which, (receiver) =>
          freshTimes(nowMs(), giveUpAfterMs.get(receiver)),
        ),
      discard: (which) => store.notifications.discard(which, nowMs()),
    },
    held: await restoreInterventions(store, maintenance, nowMs()),
    targets: await readTargets(config, store, nowMs()),
    probes: await readProbes(config, store),
    rules,
    receivers: receivers.filter(({ type }) => type !== "heartbeat").map(({ name }) => name),
    composeAcknowledged: null,
    clock,
    newId: randomUUID,
    log: createLogger({ level: "silent", format: "json" }),
    onOutbox() {},
  });
  return { ...alerts, ...createDriftDesk({ records: () => drift }) };
}

/** The configured targets as they are stored; one that is not stored yet was never polled. */
async function readTargets(
  config: Config,
  store: Store,
  nowUtcMs: number,
): Promise<readonly WatchedView[]> {
  const { staleAfter, schedule } = config.poll;
  const options = { staleAfter, restoredForMs: staleAfter * intervalOf(schedule), nowUtcMs };
  const stored = new Map(
    (await store.targets.all()).map((each) => [targetName(each.target), each]),
  );
  const configured = new Map(configuredTargets(config).map((each) => [targetName(each), each]));
  const read = async (name: string, target: Target): Promise<WatchedView> => {
    const known = stored.get(name);
    return known
      ? watchTarget(known, await store.targets.snapshotOf(known.id), options)
      : watchTarget({ id: 0, target, ...nothingKnown }, emptySnapshot, options);
  };
  const targets: WatchedView[] = [];
  for (const [name, target] of configured) targets.push(await read(name, target));
  return targets;
}

async function readProbes(config: Config, store: Store): Promise<readonly WatchedProbe[]> {
  const stored = new Map(
    (await store.probes.all()).map((known) => [subjectName(known.subject), known]),
  );
  const openIncidents: readonly Incident[] = [];
  return config.probes.flatMap((probe) =>
    subjectsOf(probe).map((subject) => {
      const known = stored.get(subjectName(subject));
      const never = { id: 0, subject, progress: initialProbeProgress, flaps: [] };
      return watchProbe(probe, { ...(known ?? never), openIncidents }, config.poll.staleAfter);
    }),
  );
}
