import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import type { Server } from "node:http";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createDaemon, type Daemon } from "../../../src/app/daemon.ts";
import type { Config } from "../../../src/config/config.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { openStore, type Store } from "../../../src/store/store.ts";
import type { Mutation } from "../controls/mutation.ts";
import { stageAt } from "../draw/receivers.ts";
import type { Life, LifeEnd, Scrape } from "../history.ts";
import type { Configured } from "../settings.ts";
import type { Disk } from "./disk.ts";
import { hookStatements } from "./statement-hook.ts";
import { replaceListening, scrapeServer } from "./virtual-door.ts";
import { VirtualDispatcher, type Peer } from "./virtual-network.ts";
import { watchDecoders } from "./world-time.ts";
import type { World } from "./world.ts";

/** How long after a reload that was not possible the next one is asked for. */
const reloadAgainMs = 60_000;

export interface HostOptions {
  readonly world: World;
  readonly folder: string;
  readonly peers: ReadonlyMap<string, Peer>;
  readonly disk: Disk;
  readonly mutation: Mutation;
  /** What a process that starts now is to be configured with, and what it is, which a mutation may change. */
  readonly configure: () => { readonly configured: Configured; readonly config: Config };
  readonly onStart: () => void;
  readonly onCommit: (database: DatabaseSync, life: number) => void;
  /** A process goes on with a poll of a target, and shows this time of it. */
  readonly onPollTaken: (targetId: number, shownUtcMs: number, life: number) => void;
  /** A process ends, and its files are still where it left them. */
  readonly onEnding: () => void;
}

/** A reload makes another one, too, within the same process of the machine. */
interface Process {
  readonly life: Life;
  /** When the monotonic clock began. */
  readonly bornMs: number;
  readonly databases: Set<DatabaseSync>;
  readonly dispatchers: VirtualDispatcher[];
  server: Server | null;
  isAlive: boolean;
  daemon: Daemon | null;
}

export type Host = ReturnType<typeof createHost>;

/** The machine that the daemon runs on: one process at a time, started again when it ends. */
export function createHost(options: HostOptions) {
  const { world, folder, disk, mutation } = options;
  const { time, scenario } = world;
  const dice = world.dice.fork("daemon");
  const restarts = world.dice.fork("restarts");
  const lives: Life[] = [];
  let current: Process | null = null;
  let storePath = join(folder, "1", "sandwatch.db");
  let incidents = 0;
  let silences = 0;
  let isRetired = false;

  const runSql = (sql: string | undefined): void =>
    statements.apart(() => {
      if (sql === undefined) return;
      using database = new DatabaseSync(storePath);
      database.exec(sql);
    });

  const step = (process: Process, what: string): void => {
    if (!process.isAlive) return;
    world.note(what);
    if (world.killSwitch.step()) kill(process, what);
  };

  const using = new DisposableStack();
  const statements = using.use(
    hookStatements<Process>(
      () => current,
      (process, database, sql, run) => {
        const pass = (what: string): void => {
          step(process, what);
          if (!process.isAlive) throw new Error("the process was killed");
        };
        pass(`before ${sql}`);
        disk.beforeStatement(database, sql, lives.length);
        const result = run();
        if (sql === "commit")
          statements.apart(() => options.onCommit(database, process.life.number));
        pass(`after ${sql}`);
        return result;
      },
    ),
  );
  using.use(watchDecoders());
  using.use(
    replaceListening((server) => {
      if (current) current.server = server;
    }),
  );

  const stageNow = () => stageAt(scenario.stages, time.nowMs);

  /** @param goesOnSinceMs the process of the machine goes on, with what is configured now */
  const end = (process: Process, ended: LifeEnd, goesOnSinceMs: number | null = null): void => {
    const { life } = process;
    options.onEnding();
    life.ended = ended;
    process.isAlive = false;
    if (current === process) current = null;
    life.endMoment = time.now().moment;
    life.endMs = time.nowMs;
    life.lastPollMs ??= time.nowMs;
    const why = "error" in ended ? `: ${ended.error}` : "";
    world.log(`process ${life.number} ${ended.how}${why}`);
    if (goesOnSinceMs !== null) {
      runSql(mutation.reloading?.(stageNow()));
      start(goesOnSinceMs);
    } else if (!isRetired) {
      const waitMs = restarts.chance(0.7)
        ? restarts.between(500, 20_000)
        : restarts.between(0, 5 * scenario.intervalMs);
      time.setTimer(waitMs, () => start(time.nowMs));
    }
  };

  const copyStoreTo = (name: string): string => {
    const path = join(folder, name, "sandwatch.db");
    mkdirSync(dirname(path));
    for (const ending of ["", "-wal", "-shm"]) {
      if (existsSync(storePath + ending)) copyFileSync(storePath + ending, path + ending);
    }
    return path;
  };

  /** Leaves the files just as they are: nothing is rolled back, flushed or cleaned up. */
  const kill = (process: Process, what: string): void => {
    options.onEnding();
    storePath = copyStoreTo(String(process.life.number + 1));
    world.log(`process ${process.life.number} is killed: ${what}`);
    end(process, { how: "killed" });
    bury(process);
  };

  /** What it waits for never comes. */
  const bury = ({ databases, dispatchers }: Process): void => {
    for (const database of databases) if (database.isOpen) database.close();
    for (const dispatcher of dispatchers) void dispatcher.destroy();
  };

  const start = (bornMs: number): void => {
    const { config, configured } = options.configure();
    const life: Life = {
      number: lives.length + 1,
      startMs: time.nowMs,
      rules: configured.rules,
      stage: configured.stage,
      watchMs: null,
      lastPollMs: null,
      ended: null,
      endMoment: null,
      endMs: null,
    };
    const process: Process = {
      life,
      bornMs,
      databases: new Set(),
      dispatchers: [],
      server: null,
      isAlive: true,
      daemon: null,
    };
    lives.push(life);
    current = process;
    world.log(`process ${life.number} starts`);
    if (life.number > 1 && bornMs === time.nowMs) runSql(mutation.between);
    options.onStart();
    const clock: Clock = {
      now: () => ({ utcMs: time.utcMs, monotonicMs: 1_000 + time.nowMs - bornMs }),
      setTimer: (delayMs, callback) =>
        time.setTimer(delayMs, () => {
          if (process.isAlive) callback();
        }),
    };
    const starting = createDaemon(config, {
      clock,
      wakeAt: (utcMs, onDue) => clock.setTimer(utcMs - time.utcMs, onDue),
      random: dice.random,
      newIncidentId: () => `incident-${++incidents}`,
      // As long as one another, as ids are: none is the beginning of another.
      newSilenceId: () => `silence-${String(++silences).padStart(4, "0")}`,
      log: createLogger({ level: "warn", format: "json" }, { write: (text) => log(process, text) }),
      createDispatcher: () => {
        const dispatcher = new VirtualDispatcher({
          time,
          peers: options.peers,
          sender: life.number,
          travelMs: () => dice.between(1, 120),
          isAlive: () => process.isAlive,
          onPassing: (what) => step(process, what),
        });
        process.dispatchers.push(dispatcher);
        return dispatcher;
      },
      openStore: (_path, _clock, observers) => {
        const ownClock = mutation.writesNoClocks ? { ...clock, setTimer: () => () => {} } : clock;
        const own = openStore(storePath, ownClock, { ...observers, isTemporary: true });
        const store = notePolls(process, own);
        return mutation.store ? mutation.store(store, process.databases) : store;
      },
    });
    void watch(process, starting);
  };

  const notePolls = (process: Process, store: Store): Store => ({
    ...store,
    async commitPoll(targetId, verdict) {
      await store.commitPoll(targetId, verdict);
      if (!process.isAlive) return;
      options.onPollTaken(targetId, verdict.at.utcMs, process.life.number);
    },
  });

  const log = (process: Process, text: string): void => {
    for (const line of process.isAlive ? text.trimEnd().split("\n") : []) {
      const { level, msg }: Readonly<Record<string, string>> = JSON.parse(line);
      world.log(`process ${process.life.number} ${level}: ${msg}`);
    }
  };

  const watch = async (process: Process, starting: Promise<Daemon>): Promise<void> => {
    try {
      const daemon = await starting;
      if (!process.isAlive) return;
      await daemon.serve();
      if (!process.isAlive) return;
      process.daemon = daemon;
      process.life.watchMs = time.nowMs;
      daemon.watch();
      if (stageNow() !== process.life.stage) void reload();
    } catch (error) {
      if (process.isAlive) end(process, { how: "could not start", error: String(error) });
    }
  };

  const stopDaemon = async (
    process: Process,
    daemon: Daemon,
    goesOnSinceMs: number | null = null,
  ): Promise<void> => {
    process.life.lastPollMs = time.nowMs;
    world.log(`process ${process.life.number} is asked to stop`);
    try {
      await daemon.stop();
      const { stopsLateMs } = mutation;
      if (stopsLateMs) await new Promise<void>((done) => void time.setTimer(stopsLateMs, done));
      if (process.isAlive) end(process, { how: "stopped" }, goesOnSinceMs);
    } catch (error) {
      if (process.isAlive) end(process, { how: "stopped badly", error: String(error) });
    }
  };

  /** Has the running process read its configuration again, as `SIGHUP` does. It goes on while its store takes nothing. */
  const reload = async (): Promise<void> => {
    const process = current;
    if (!process?.daemon || process.life.lastPollMs !== null) return;
    if (stageNow() === process.life.stage) return;
    const { daemon, life, bornMs } = process;
    world.log(`process ${life.number} is asked to reload`);
    try {
      await daemon.checkStore();
      if (process.isAlive && life.lastPollMs === null) await stopDaemon(process, daemon, bornMs);
    } catch {
      time.setTimer(reloadAgainMs, () => void reload());
    }
  };

  return {
    lives,
    start(): void {
      mkdirSync(dirname(storePath));
      start(time.nowMs);
    },
    /** Asks the process to stop, if one runs. */
    stop(): void {
      if (!current?.daemon || current.life.lastPollMs !== null) return;
      void stopDaemon(current, current.daemon);
    },
    reload,
    /** From now on a process that ended is not started again. */
    retire: (): void => void (isRetired = true),
    /** The store as the last process left it, or has it. */
    get storePath() {
      return storePath;
    },
    /** The store as it is now, under another path; null: no process polls. */
    copyStore(name: string): string | null {
      if (!current?.daemon || current.life.lastPollMs !== null) return null;
      return copyStoreTo(name);
    },
    /** Of the process that polls. */
    get api() {
      return current?.daemon?.api ?? null;
    },
    scrape(onScrape: (scrape: Scrape) => void): void {
      const process = current;
      if (!process?.server || process.life.lastPollMs !== null) return;
      const now = time.now();
      scrapeServer(process.server, (answers) => {
        if (!process.isAlive || time.now().moment !== now.moment) return;
        onScrape({ life: process.life.number, ...now, ...answers });
      });
    },
    beside: (act: () => Promise<void>): Promise<void> => statements.beside(act),
    [Symbol.dispose](): void {
      using.dispose();
      if (!current) return;
      current.isAlive = false;
      bury(current);
    },
  };
}
