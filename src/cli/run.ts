import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { counted } from "../fleet/text.ts";
import { createDaemon } from "../app/daemon.ts";
import type { Daemon } from "../app/daemon.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import type { Logger } from "../lib/logger.ts";
import { version } from "../lib/version.ts";
import { becomeActive } from "../app/become-active.ts";
import type { ActiveProcess } from "../app/daemon-overrides.ts";
import { StoreError, StoreLostError, StoreUnavailableError } from "../store/store-error.ts";
import { isSameStore } from "../store/store-settings.ts";
import { openConfiguredStore } from "../store/store.ts";
import type { LastReload, ReloadAnswer } from "../web/server.ts";
import { configNotes } from "./check-config.ts";
import { asListenFault, configOption, readConfig } from "./options.ts";
import { untilStopped } from "./signals.ts";
import { notifySystemd } from "./systemd.ts";
import type { Terminal } from "./terminal.ts";

export function addRun(program: Command, terminal: Terminal): void {
  program
    .command("run")
    .description("run the daemon until it is stopped")
    .addOption(configOption())
    .action(({ config }) => run(config, terminal));
}

/** A running daemon with its configuration, and what all daemons of this process share. */
interface Running {
  /** Null: it stood by when it was to stop or another configuration was read. */
  readonly daemon: Daemon | null;
  /** Null: the store is on SQLite, or this process is not active. It outlives a daemon that is replaced. */
  readonly active: ActiveProcess | null;
  /** How often this process has become active after it stood by. */
  readonly takeOvers: number;
  readonly config: Config;
  readonly log: Logger;
  readonly reloads: Reloads;
  readonly stopping: AbortSignal;
}

type Next = Omit<Running, "daemon" | "active"> & Partial<Pick<Running, "active">>;

/** Runs the daemon until a signal ends it. A reload of the configuration starts it again. */
async function run(file: string, terminal: Terminal): Promise<void> {
  const config = readConfig(file, terminal);
  const reloads = createReloads(() => readConfig(file, terminal), systemClock);
  let log = createLogger(config.log);
  const stop = new AbortController();
  const stopped = untilStopped().then((signal) => {
    log.info({ event: "daemon.stopping", signal }, "stopping");
    stop.abort();
    return null;
  });
  // Until the process ends: without a listener SIGHUP would end it.
  process.on("SIGHUP", () => {
    if (stop.signal.aborted) {
      log.info({ event: "config.ignored" }, "SIGHUP is ignored: sandwatch is stopping");
      return;
    }
    const answer = reloads.request();
    if (answer.kind === "accepted") return answer.begin();
    const reason = answer.reason.replaceAll(/\n */g, "; ");
    log.error({ event: "config.refused", reason }, reason);
  });
  const first = { config, log, reloads, stopping: stop.signal, takeOvers: 0 };
  let running = await startWhenOpen(first, StoreUnavailableError);
  while (running) {
    const next: Config | null = await Promise.race([stopped, reloads.next()]);
    if (next === null) break;
    running = await (next === running.config ? startOver(running) : restart(running, next));
    ({ log } = running);
  }
  if (running) await end(running);
  log.info({ event: "daemon.stopped" }, "stopped");
}

/** When the process is stopped meanwhile, the daemon is created but neither serves nor polls. */
async function start(next: Next, isFirst: boolean): Promise<Running> {
  const { config, log, reloads, stopping } = next;
  for (const note of configNotes(config)) log.warn({ event: "config.note" }, note);
  const waiting = next.active ? null : await waitUntilActive(next, isFirst);
  const active = next.active ?? waiting?.active ?? null;
  const takeOvers = active?.takeOvers ?? next.takeOvers;
  const isStopped = config.store.postgres !== null && active === null;
  if (isStopped) return { ...next, daemon: null, active, takeOvers };
  try {
    const daemon = await createDaemon(config, { log, reloads, ...(active && { active }) });
    await waiting?.stopServing();
    if (stopping.aborted) return { ...next, daemon, active, takeOvers };
    try {
      const address = await daemon.start();
      notifySystemd(log);
      const targets = configuredTargets(config).length;
      log.info(
        { event: "daemon.started", version, address, targets },
        `sandwatch ${version} monitors ${counted(targets, "target")}; metrics at ${address}/metrics`,
      );
      return { ...next, daemon, active, takeOvers };
    } catch (error) {
      await daemon.stop();
      throw listenFault(error, config);
    }
  } catch (error) {
    await waiting?.stopServing();
    await active?.candidate.close();
    throw error;
  }
}

/** On PostgreSQL. Null: the store is on SQLite, or it is to stop or has another configuration meanwhile. */
async function waitUntilActive(next: Next, isFirst: boolean) {
  const { config, log, reloads, stopping, takeOvers } = next;
  const { postgres } = config.store;
  if (postgres === null) return null;
  const changed = new AbortController();
  void reloads.begun().then(() => changed.abort());
  try {
    return await becomeActive({
      config,
      postgres,
      clock: systemClock,
      log,
      reloads,
      takeOvers,
      signal: AbortSignal.any([stopping, changed.signal]),
      isFirst,
      onServing: () => notifySystemd(log),
      onLost: () => reloads.startOver(config),
    });
  } catch (error) {
    throw listenFault(error, config);
  }
}

function listenFault(error: unknown, { http: { healthListen } }: Config): unknown {
  const isOfHealth = Object(error).port === (healthListen?.port ?? null);
  return asListenFault(error, isOfHealth ? "http.health_listen" : "http.listen");
}

/**
 * Runs with the next configuration, or where that cannot be started with the one before. Once the process is to stop,
 * nothing is started: the daemon that is returned has been stopped already.
 */
async function restart(before: Running, config: Config): Promise<Running> {
  const { log, reloads, stopping } = before;
  const refuse = (reason: string): void => {
    reloads.failed();
    const message = `the new configuration cannot be used, the previous one stays in use: ${reason}`;
    log.error({ event: "config.refused", reason }, message);
  };
  const fault = await storeFault(before, config);
  if (fault !== null) {
    refuse(fault);
    return before.daemon ? before : startAgain(before);
  }
  log.info({ event: "daemon.reloading" }, "applying the changed configuration");
  const active = await stopDaemon(before, config);
  if (stopping.aborted) return { ...before, daemon: null, active };
  const { takeOvers } = before;
  const next = { config, log: createLogger(config.log), reloads, stopping, active, takeOvers };
  try {
    return await start(next, false);
  } catch (error) {
    refuse(messageOf(error));
    return startAgain(before);
  }
}

/** Runs with the same configuration after its process was not active any more: what is stored is read again. */
async function startOver(before: Running): Promise<Running> {
  before.log.info({ event: "daemon.reloading" }, "reading what is stored again");
  await end(before);
  return startAgain(before);
}

/** @returns what stays active: the other process would otherwise become active with the configuration before */
async function stopDaemon(before: Running, next: Config): Promise<ActiveProcess | null> {
  const { active, config } = before;
  const isKept =
    active?.candidate.mayAct() === true &&
    isSameStore(next.store, config.store) &&
    isDeepStrictEqual(next.cluster, config.cluster);
  await end(isKept ? { ...before, active: null } : before);
  return isKept ? active : null;
}

async function end({ daemon, active, log }: Running): Promise<void> {
  await daemon?.stop().catch((err: unknown) => {
    log.error({ event: "daemon.stop_failed", err }, "the previous daemon did not stop cleanly");
  });
  await active?.candidate.close();
}

/** Why a daemon with the next configuration could not use its store; null: no reason is known. */
async function storeFault({ daemon, config }: Running, next: Config): Promise<string | null> {
  try {
    const late = setTimeout(5_000, "late", { ref: false });
    const answer = await Promise.race([daemon?.checkStore(), late]);
    if (answer === "late") return "the store does not answer; reload again when it does";
    const { postgres } = next.store;
    if (postgres !== null) {
      // Another one, or with another password, for example.
      const { examinePostgres } = await import("../store/postgres/database.ts");
      const { fault } = await examinePostgres(postgres);
      return fault?.isFailure === true ? fault.text : null;
    }
    // This one has its own store open: that cannot be opened twice.
    if (!isSameStore(next.store, config.store))
      await (await openConfiguredStore(next.store)).close();
    return null;
  } catch (error) {
    // It cannot be used any more, whatever the configuration is.
    if (error instanceof StoreLostError) return null;
    if (!(error instanceof StoreUnavailableError)) return messageOf(error);
    // It is away for the configuration before, too, and is waited for with the next one as well.
    if (daemon === null && isSameStore(next.store, config.store)) return null;
    return `${error.message} Reload again when the store can be used.`;
  }
}

/** Runs with the configuration before. Where its store cannot be opened, it is retried until the process is to stop. */
async function startAgain(before: Running): Promise<Running> {
  const again = await startWhenOpen({ ...before, active: null }, StoreError);
  return again ?? { ...before, daemon: null, active: null };
}

/**
 * Retries while the store cannot be opened because of such an error.
 *
 * @returns null: the process is to stop
 */
async function startWhenOpen(next: Next, retried: typeof StoreError): Promise<Running | null> {
  const { log, stopping } = next;
  const isFirst = retried === StoreUnavailableError;
  for (let isRepeated = false; !stopping.aborted; isRepeated = true) {
    try {
      return await start(next, isFirst);
    } catch (error) {
      if (!(error instanceof retried)) throw error;
      if (!isRepeated) {
        const message = `the store cannot be opened; it is retried every second: ${error.message}`;
        log.error({ event: "store.not_opened", reason: error.message }, message);
      }
      await setTimeout(1_000, null, { signal: stopping }).catch(() => null);
    }
  }
  return null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export type Reloads = ReturnType<typeof createReloads>;

/** Reads the configuration on request. One that `load` refuses by throwing changes nothing. */
export function createReloads(load: () => Config, clock: Clock) {
  let last: LastReload = { successful: true, successAtMs: clock.now().utcMs };
  /** The latest that was read and is not running. */
  let wanted: Config | null = null;
  let begun = Promise.withResolvers<void>();
  return {
    request(): ReloadAnswer {
      try {
        wanted = load();
      } catch (error) {
        last = { ...last, successful: false };
        return { kind: "refused", reason: messageOf(error) };
      }
      last = { successful: true, successAtMs: clock.now().utcMs };
      return { kind: "accepted", begin: () => begun.resolve() };
    },
    /** Resolves when `next` does. */
    begun: (): Promise<void> => begun.promise,
    /** Resolves with the next configuration to run: the latest of several. */
    async next(): Promise<Config> {
      for (;;) {
        await begun.promise;
        begun = Promise.withResolvers();
        const config = wanted;
        wanted = null;
        if (config) return config;
      }
    },
    /** The present configuration is run again, unless another was read. */
    startOver(config: Config): void {
      wanted ??= config;
      begun.resolve();
    },
    /** The last configuration of `next` could not be run. Ignored when another was read since. */
    failed(): void {
      if (!wanted) last = { ...last, successful: false };
    },
    last: (): LastReload => last,
  };
}
