import { existsSync, readFileSync } from "node:fs";
import { createApi } from "../../../src/api/operation.ts";
import { listChanges } from "../../../src/api/operations/changes.ts";
import { listDrift } from "../../../src/api/operations/drift.ts";
import { listIncidents } from "../../../src/api/operations/incidents.ts";
import { listNotifications } from "../../../src/api/operations/notifications.ts";
import { listProbes } from "../../../src/api/operations/probes.ts";
import { listServers } from "../../../src/api/operations/servers.ts";
import { listSilences } from "../../../src/api/operations/silences.ts";
import { listTargets } from "../../../src/api/operations/targets.ts";
import type { Config } from "../../../src/config/config.ts";
import { createDaemon } from "../../../src/app/daemon.ts";
import { openForQueries } from "../../../src/app/offline.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { openStore } from "../../../src/store/store.ts";
import type { Onlook } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import type { Host } from "./host.ts";
import type { Trace } from "./trace.ts";
import { VirtualDispatcher } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

/** What is wrong with those who look, for a negative control. */
export interface OnlookerFaults {
  /** Runs before queries are answered. */
  readonly beforeQueries?: (storePath: string) => void;
  readonly beforeSecondProcess?: (storePath: string) => void;
}

export interface OnlookersDeps {
  readonly scenario: Scenario;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly host: Host;
  readonly config: () => Config;
  /** Nobody looks while the store is not in its place. */
  readonly isDisplaced: () => boolean;
  readonly faults: OnlookerFaults;
}

/** Has people query the store, and start another process on it, at any moment, whether a process runs on it or not. */
export function beginOnlookers(deps: OnlookersDeps): readonly Onlook[] {
  const { scenario, time, dice, trace, host, faults } = deps;
  const onlooks: Onlook[] = [];
  const clock: Clock = {
    now: () => ({ utcMs: time.utcMs, monotonicMs: time.nowMs }),
    setTimer: (delayMs, callback) => time.setTimer(delayMs, callback),
  };

  const look = async (
    what: Onlook["what"],
    act: (config: Config) => Promise<Onlook["servers"]>,
  ): Promise<void> => {
    const life = host.lives.at(-1);
    if (!life || deps.isDisplaced()) return;
    const isRunning = life.watchMs !== null && life.lastPollMs === null;
    if (what === "another process" && !isRunning) return;
    const { moment, nowMs: atMs } = time;
    const { storePath } = host;
    const config = { ...deps.config(), store: { path: storePath } };
    const before = filesOf(storePath);
    let servers: Onlook["servers"] = null;
    let error: string | null = null;
    await host.beside(async () => {
      try {
        servers = await act(config);
      } catch (thrown) {
        error = thrown instanceof Error ? thrown.message : String(thrown);
      }
    });
    const isChanged = filesOf(storePath).some((file, at) => !before[at]?.equals(file));
    trace.tell(`${what} on the store of process ${life.number}: ${error ?? "answered"}`);
    onlooks.push({ what, life: life.number, moment, atMs, error, isChanged, servers });
  };

  const query = (config: Config) => {
    faults.beforeQueries?.(config.store.path);
    return askEverything(config, clock);
  };

  const startAnother = async (config: Config): Promise<null> => {
    faults.beforeSecondProcess?.(config.store.path);
    const daemon = await createDaemon(config, {
      clock,
      random: dice.random,
      log: createLogger({ level: "silent", format: "json" }),
      createDispatcher: () =>
        new VirtualDispatcher({
          time,
          peers: new Map(),
          sender: 0,
          travelMs: () => 1,
          isAlive: () => false,
          onPassing() {},
        }),
      openStore: (path, ownClock) => openStore(path, ownClock, { isTemporary: true }),
    });
    await daemon.stop();
    return null;
  };

  const at = (times: number, own: Dice, happen: () => void): void => {
    for (let left = times; left > 0; left--) time.setTimer(own.random() * scenario.endMs, happen);
  };
  const queries = dice.fork("queries");
  at(queries.pick([0, 2, 4]), queries, () => void look("queries", query));
  const others = dice.fork("another process");
  at(others.pick([0, 0, 1, 2]), others, () => void look("another process", startAnother));
  return onlooks;
}

/** All that commands show of the store; of the servers, how many each target has in each status. */
async function askEverything(
  config: Config,
  clock: Clock,
): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  await using offline = await openForQueries(config, clock);
  const api = createApi(offline.context);
  await api(listTargets, {});
  await api(listIncidents, {});
  await api(listSilences, {});
  await api(listNotifications, {});
  await api(listChanges, {});
  await api(listDrift, {});
  await api(listProbes, {});
  const { servers } = await api(listServers, { limit: 1_000 });
  const counts = new Map<string, Map<string, number>>();
  for (const { region, key, status } of servers) {
    const target = `${region}/${key}`;
    const own = counts.get(target) ?? new Map<string, number>();
    counts.set(target, own.set(status, (own.get(status) ?? 0) + 1));
  }
  return counts;
}

/** The database and its log: all that is stored. */
function filesOf(storePath: string): readonly Buffer[] {
  return [storePath, `${storePath}-wal`].map((file) =>
    existsSync(file) ? readFileSync(file) : Buffer.alloc(0),
  );
}
