import { existsSync, readFileSync } from "node:fs";
import { createApi } from "../../../src/api/operation.ts";
import { listChanges } from "../../../src/api/operations/changes.ts";
import { listDrift } from "../../../src/api/operations/drift.ts";
import { listIncidents } from "../../../src/api/operations/incidents.ts";
import { listNotifications } from "../../../src/api/operations/notifications.ts";
import { listProbes } from "../../../src/api/operations/probes.ts";
import { listSilences } from "../../../src/api/operations/silences.ts";
import { listServers, listTargets } from "../../../src/api/operations/targets.ts";
import { createDaemon } from "../../../src/app/daemon.ts";
import { openForQueries } from "../../../src/app/offline.ts";
import type { Config } from "../../../src/config/config.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { openStore } from "../../../src/store/store.ts";
import type { Mutation } from "../controls/mutation.ts";
import type { StoreAccess } from "../history.ts";
import type { Host } from "./host.ts";
import { VirtualDispatcher } from "./virtual-network.ts";
import { atTimes, type World } from "./world.ts";

type Servers = StoreAccess["servers"];

/**
 * Commands query the store, and a second process starts on it, at any moment, whether a process runs on it or not.
 *
 * @param isDisplaced whether a file of the store is not in its place: then nobody does
 */
export function beginAccesses(
  world: World,
  host: Host,
  mutation: Mutation,
  configure: () => { readonly config: Config },
  isDisplaced: () => boolean,
): readonly StoreAccess[] {
  const { scenario, time } = world;
  const dice = world.dice.fork("onlookers");
  const accesses: StoreAccess[] = [];
  const clock: Clock = {
    now: () => ({ utcMs: time.utcMs, monotonicMs: time.nowMs }),
    setTimer: (delayMs, callback) => time.setTimer(delayMs, callback),
  };

  const access = async (
    what: StoreAccess["what"],
    act: (config: Config) => Promise<Servers>,
  ): Promise<void> => {
    const life = host.lives.at(-1);
    if (!life || isDisplaced()) return;
    const isRunning = life.watchMs !== null && life.lastPollMs === null;
    if (what === "a second process" && !isRunning) return;
    const now = time.now();
    const { storePath: path } = host;
    const before = filesOf(path);
    let servers: Servers = null;
    let error: string | null = null;
    await host.beside(async () => {
      try {
        servers = await act({ ...configure().config, store: { path, postgres: null } });
      } catch (thrown) {
        error = thrown instanceof Error ? thrown.message : String(thrown);
      }
    });
    const isChanged = filesOf(path).some((file, at) => !before[at]?.equals(file));
    world.log(`${what} on the store of process ${life.number}: ${error ?? "answered"}`);
    accesses.push({ what, life: life.number, ...now, error, isChanged, servers });
  };

  const query = (config: Config): Promise<Servers> => {
    mutation.beforeQueries?.(config.store.path);
    return queryEverything(config, clock);
  };

  const startSecond = async (config: Config): Promise<null> => {
    mutation.beforeSecondProcess?.(config.store.path);
    const network = {
      time,
      peers: new Map(),
      sender: 0,
      travelMs: () => 1,
      isAlive: () => false,
      onPassing() {},
    };
    const daemon = await createDaemon(config, {
      clock,
      random: dice.random,
      log: createLogger({ level: "silent", format: "json" }),
      createDispatcher: () => new VirtualDispatcher(network),
      openStore: (path, ownClock) => openStore(path, ownClock, { isTemporary: true }),
    });
    await daemon.stop();
    return null;
  };

  const { endMs } = scenario;
  const queries = dice.fork("queries");
  atTimes(world, queries, queries.pick([0, 2, 4]), endMs, () => void access("queries", query));
  const second = dice.fork("another process");
  atTimes(world, second, second.pick([0, 0, 1, 2]), endMs, () => {
    void access("a second process", startSecond);
  });
  return accesses;
}

/** All that commands show of the store; of the servers, how many each target has in each status. */
async function queryEverything(config: Config, clock: Clock): Promise<Servers> {
  await using offline = await openForQueries(config, { clock });
  const api = createApi(offline.context);
  await api(listTargets, {});
  await api(listIncidents, {});
  await api(listSilences, {});
  await api(listNotifications, {});
  await api(listChanges, {});
  await api(listDrift, {});
  await api(listProbes, {});
  const { servers } = await api(listServers, { limit: 1_000 });
  const byTarget = Map.groupBy(servers, ({ region, key }) => `${region}/${key}`);
  return new Map(
    Array.from(byTarget, ([target, own]) => {
      const byStatus = Map.groupBy(own, ({ status }) => status);
      return [target, new Map(Array.from(byStatus, ([status, some]) => [status, some.length]))];
    }),
  );
}

/** The database and its log: all that is stored. */
function filesOf(storePath: string): readonly Buffer[] {
  return [storePath, `${storePath}-wal`].map((file) =>
    existsSync(file) ? readFileSync(file) : Buffer.alloc(0),
  );
}
