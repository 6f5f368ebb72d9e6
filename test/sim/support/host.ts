import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Server } from "node:http";
import { createDaemon } from "../../../src/app/daemon.ts";
import type { Daemon } from "../../../src/app/daemon.ts";
import type { CallApi } from "../../../src/api/operation.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { OpenOptions } from "../../../src/store/sqlite/database.ts";
import { openStore } from "../../../src/store/store.ts";
import type { Life, LifeEnd, Scrape } from "../history.ts";
import type { HostDeps } from "./host-deps.ts";
import { createDatabaseOwners } from "./database-owners.ts";
import { watchDecoders } from "./decoders.ts";
import { createProcessLog } from "./process-log.ts";
import { copyStore, runSql } from "./store-files.ts";
import { hookStatements } from "./statement-hook.ts";
import { openVirtualDoor } from "./virtual-door.ts";
import { VirtualDispatcher } from "./virtual-network.ts";

/** What a process wrote outlives it, on the disk or not; and a real disk takes a time of its own. */
const withoutDisk: OpenOptions = { isTemporary: true };

/** How long after a reload that could not be the next one is asked for. */
const reloadAgainMs = 60_000;

/** The machine that the daemon runs on: one process at a time, started again when it ends. */
export interface Host extends Disposable {
  readonly lives: readonly Life[];
  start(): void;
  /** Asks the process to end in good order, if one runs. */
  stop(): void;
  /** Has the process that runs read its configuration again and go on with it, as `SIGHUP` does. */
  reload(): Promise<void>;
  /** Of the process that runs, if it has come so far. */
  readonly api: CallApi | null;
  /** Asks the process that runs how it does. */
  scrape(onScrape: (scrape: Scrape) => void): void;
  /** Does something that is not the process's doing, while the process is at rest. */
  beside(act: () => Promise<void>): Promise<void>;
  /** From now on a process that ended is not started again. */
  retire(): void;
  /** The store as the last process left it, or has it. */
  readonly storePath: string;
}

/** A reload makes a new one, too, within the same process of the machine. */
interface Process {
  readonly life: Life;
  /** When the monotonic clock began. */
  readonly bornMs: number;
  readonly databases: Set<DatabaseSync>;
  server: Server | null;
  readonly dispatchers: VirtualDispatcher[];
  alive: boolean;
  daemon: Daemon | null;
}

export function createHost(deps: HostDeps): Host {
  const { time, trace, dice } = deps;
  const lives: Life[] = [];
  let current: Process | null = null;
  let storePath = join(deps.folder, "1", "sandwatch.db");
  let incidents = 0;
  let silences = 0;
  let retired = false;
  const owners = createDatabaseOwners<Process>(
    () => current,
    ({ databases }, database) => databases.add(database),
  );

  const pass = (process: Process, what: string): void => {
    if (!process.alive) return;
    trace.mark(what);
    if (deps.onPassing()) kill(process, what);
  };

  const hook = hookStatements({
    before(database, sql) {
      const process = owners.ownerOf(database);
      if (!process || sql === "rollback") return;
      pass(process, `before ${sql}`);
      if (!process.alive) throw new Error("the process was killed");
      deps.onStatement(database, sql);
    },
    after(database, sql) {
      const process = owners.ownerOf(database);
      if (!process || sql === "rollback") return;
      if (sql === "commit") {
        owners.apart(() => deps.onCommit(database, process.life.number));
      }
      pass(process, `after ${sql}`);
      if (!process.alive) throw new Error("the process was killed");
    },
  });

  const decoders = watchDecoders();
  const door = openVirtualDoor((server) => {
    if (current) current.server = server;
  });

  /** `goesOnSinceMs`: the process of the machine goes on, with what is configured now. */
  const end = (
    process: Process,
    ended: LifeEnd,
    how: string,
    goesOnSinceMs: number | null = null,
  ): void => {
    const { life } = process;
    deps.onEnding();
    life.ended = ended;
    process.alive = false;
    if (current === process) current = null;
    life.endMoment = time.moment;
    life.endMs = time.nowMs;
    life.lastPollMs ??= time.nowMs;
    trace.tell(`process ${life.number} ${how}`);
    if (goesOnSinceMs !== null) {
      if (deps.reloading !== null) runBetween(deps.reloading(deps.reloads()));
      start(goesOnSinceMs);
    } else if (!retired) time.setTimer(deps.restartMs(), () => start(time.nowMs));
  };

  const endBadly = (
    process: Process,
    how: "could not start" | "stopped badly",
    error: unknown,
  ): void => end(process, { how, error: String(error) }, `${how}: ${String(error)}`);

  /** Leaves the files just as they are: nothing is rolled back, flushed or tidied up. */
  const kill = (process: Process, what: string): void => {
    deps.onEnding();
    const next = join(deps.folder, String(process.life.number + 1), "sandwatch.db");
    copyStore(storePath, next);
    storePath = next;
    end(process, { how: "killed" }, `is killed: ${what}`);
    bury(process);
  };

  /** Nothing of it is heard any more; what it waited for would be kept for ever. */
  const bury = ({ databases, dispatchers }: Process): void => {
    for (const database of databases) if (database.isOpen) database.close();
    for (const dispatcher of dispatchers) void dispatcher.destroy();
  };

  const clockOf = (process: Process): Clock => ({
    // The monotonic clock of a process begins with it.
    now: () => ({ utcMs: time.utcMs, monotonicMs: 1_000 + time.nowMs - process.bornMs }),
    setTimer: (delayMs, callback) =>
      time.setTimer(delayMs, () => {
        if (process.alive) callback();
      }),
  });

  const runBetween = (sql: string): void => owners.apart(() => runSql(storePath, sql));

  const start = (bornMs: number): void => {
    const { nowMs: startMs, moment: startMoment } = time;
    const { config, rules, stage } = deps.configure();
    const life: Life = {
      rules,
      stage,
      number: lives.length + 1,
      startMs,
      startMoment,
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
      server: null,
      dispatchers: [],
      alive: true,
      daemon: null,
    };
    lives.push(life);
    current = process;
    trace.tell(`process ${life.number} starts`);
    if (deps.between !== null && lives.length > 1 && bornMs === startMs) runBetween(deps.between);
    if (lives.length > 1) owners.apart(() => deps.beforeStart(storePath, life.number));
    deps.onStart();
    const clock = clockOf(process);
    const starting = createDaemon(config, {
      clock,
      wakeAt: (utcMs, onDue) => clock.setTimer(utcMs - clock.now().utcMs, onDue),
      random: dice.random,
      newIncidentId: () => `incident-${++incidents}`,
      // As long as one another, as ids are: none is the beginning of another.
      newSilenceId: () => `silence-${String(++silences).padStart(4, "0")}`,
      log: createProcessLog(life.number, trace, {
        isAlive: () => process.alive,
        onStoreLine: (line) => deps.onStoreLog({ ...line, life: life.number, atMs: time.nowMs }),
      }),
      createDispatcher: () => {
        const dispatcher = new VirtualDispatcher({
          time,
          peers: deps.peers,
          sender: life.number,
          travelMs: () => dice.between(1, 120),
          isAlive: () => process.alive,
          onPassing: (what) => pass(process, what),
        });
        process.dispatchers.push(dispatcher);
        return dispatcher;
      },
      openStore: (_path, _clock, observers) =>
        deps.mutate(
          openStore(storePath, clock, { ...observers, ...withoutDisk }),
          process.databases,
        ),
    });
    void watchOnce(process, starting);
  };

  const watchOnce = async (process: Process, starting: Promise<Daemon>): Promise<void> => {
    try {
      const daemon = await starting;
      if (!process.alive) return;
      await daemon.serve();
      if (!process.alive) return;
      process.daemon = daemon;
      process.life.watchMs = time.nowMs;
      daemon.watch();
      if (deps.reloads() !== process.life.stage) void reload();
    } catch (error) {
      if (process.alive) endBadly(process, "could not start", error);
    }
  };

  const stop = async (
    process: Process,
    daemon: Daemon,
    goesOnSinceMs: number | null = null,
  ): Promise<void> => {
    process.life.lastPollMs = time.nowMs;
    trace.tell(`process ${process.life.number} is asked to stop`);
    try {
      await daemon.stop();
      if (deps.stopsLateMs > 0) {
        await new Promise<void>((resolve) => void time.setTimer(deps.stopsLateMs, resolve));
      }
      if (process.alive) end(process, { how: "stopped" }, "stopped", goesOnSinceMs);
    } catch (error) {
      if (process.alive) endBadly(process, "stopped badly", error);
    }
  };

  /** As `run` does: what runs goes on while its store takes nothing, and is asked again. */
  const reload = async (): Promise<void> => {
    const process = current;
    if (!process?.daemon || process.life.lastPollMs !== null) return;
    if (deps.reloads() === process.life.stage) return;
    const { daemon, life, bornMs } = process;
    trace.tell(`process ${life.number} is asked to reload`);
    const isUsable = await daemon.checkStore().then(
      () => true,
      () => false,
    );
    if (!isUsable) time.setTimer(reloadAgainMs, () => void reload());
    else if (process.alive && life.lastPollMs === null) await stop(process, daemon, bornMs);
  };

  return {
    lives,
    start: () => {
      mkdirSync(dirname(storePath));
      start(time.nowMs);
    },
    reload,
    stop() {
      if (!current?.daemon || current.life.lastPollMs !== null) return;
      void stop(current, current.daemon);
    },
    get storePath() {
      return storePath;
    },
    get api() {
      return current?.daemon?.api ?? null;
    },
    scrape(onScrape) {
      const process = current;
      if (!process?.server || process.life.lastPollMs !== null) return;
      const { life, server } = process;
      const { moment, nowMs: atMs } = time;
      const isStillAsked = (): boolean => process.alive && time.moment === moment;
      door.scrape(server, (answers) => {
        if (isStillAsked()) onScrape({ life: life.number, moment, atMs, ...answers });
      });
    },
    beside: (act) => owners.beside(act),
    retire: () => void (retired = true),
    [Symbol.dispose]() {
      hook[Symbol.dispose]();
      door[Symbol.dispose]();
      decoders[Symbol.dispose]();
      if (current) {
        current.alive = false;
        bury(current);
      }
    },
  };
}
