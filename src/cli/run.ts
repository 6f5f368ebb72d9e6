import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import { loadConfig } from "../config/load-config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { counted } from "../fleet/counted.ts";
import { createDaemon } from "../app/daemon.ts";
import type { Daemon } from "../app/daemon.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import type { Logger } from "../lib/logger.ts";
import { version } from "../lib/version.ts";
import { StoreError } from "../store/store-error.ts";
import { openStore } from "../store/store.ts";
import type { LastReload, ReloadAnswer } from "../web/server.ts";
import { configNotes } from "./config-notes.ts";
import { asListenFault } from "./listen-fault.ts";
import { configOption, readConfig } from "./options.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./signals.ts";

export function addRun(program: Command, terminal: Terminal): void {
  program
    .command("run")
    .description("run the daemon until it is stopped")
    .addOption(configOption())
    .action((options: { readonly config: string }) => run(options.config, terminal));
}

/** A running daemon with its configuration. */
interface Running {
  readonly daemon: Daemon;
  readonly config: Config;
  readonly log: Logger;
}

/** What all daemons of this process share. */
interface Lifetime {
  readonly reloads: Reloads;
  readonly stopping: AbortSignal;
}

/** Runs the daemon until a signal ends it. A reload of the configuration starts it again. */
async function run(file: string, terminal: Terminal): Promise<void> {
  const config = readConfig(file, terminal);
  const logFormat = terminal.isInteractive ? "pretty" : "json";
  const reloads = createReloads(
    file,
    () => loadConfig(file, process.env, { logFormat }),
    systemClock,
  );
  let log = createLogger(config.log);
  const stop = new AbortController();
  const stopped = untilStopped().then((signal) => {
    log.info({ event: "daemon.stopping", signal }, "stopping");
    stop.abort();
    return null;
  });
  const stopping = stop.signal;
  // Until the process ends: without a listener SIGHUP would end it.
  process.on("SIGHUP", () => {
    if (!stopping.aborted) reloadAtSignal(reloads, log);
    else log.info({ event: "config.ignored" }, "SIGHUP is ignored: sandwatch is stopping");
  });
  let running = await start(config, log, { reloads, stopping });
  for (;;) {
    const next = await Promise.race([stopped, reloads.next()]);
    if (next === null) break;
    running = await restart(running, next, { reloads, stopping });
    ({ log } = running);
  }
  await running.daemon.stop();
  log.info({ event: "daemon.stopped" }, "stopped");
}

function reloadAtSignal(reloads: Reloads, log: Logger): void {
  const answer = reloads.request();
  if (answer.kind === "accepted") answer.begin();
  else log.error({ event: "config.refused", reason: answer.reason }, answer.reason);
}

/** When it is stopped meanwhile, the daemon is created but neither serves nor polls. */
async function start(
  config: Config,
  log: Logger,
  { reloads, stopping }: Lifetime,
): Promise<Running> {
  for (const note of configNotes(config)) log.warn({ event: "config.note" }, note);
  const daemon = await createDaemon(config, { log, reloads });
  if (stopping.aborted) return { daemon, config, log };
  try {
    const address = await daemon.start();
    const targets = daemon.targets.length;
    log.info(
      { event: "daemon.started", version, address, targets },
      `sandwatch ${version} monitors ${counted(targets, "target")}; metrics at ${address}/metrics`,
    );
    return { daemon, config, log };
  } catch (error) {
    await daemon.stop();
    throw asListenFault(error, config.http, "http.listen");
  }
}

/**
 * Runs with the next configuration, or where that cannot be started with the one before. Once the process is to stop,
 * nothing is started: the daemon that is returned has been stopped already.
 */
async function restart(before: Running, next: Config, lifetime: Lifetime): Promise<Running> {
  const { daemon, log } = before;
  const { reloads, stopping } = lifetime;
  const refuse = (reason: string, inUse: string): void => {
    reloads.failed();
    log.error(
      { event: "config.refused", reason },
      `the configuration is not reloaded, the ${inUse} one stays in use: ${reason}`,
    );
  };
  const fault = await storeFault(before, next);
  if (fault !== null) {
    refuse(fault, "present");
    return before;
  }
  log.info({ event: "daemon.reloading" }, "applying the changed configuration");
  await daemon.stop().catch((err: unknown) => {
    log.error({ event: "daemon.stop_failed", err }, "the previous daemon did not stop cleanly");
  });
  if (stopping.aborted) return before;
  try {
    return await start(next, createLogger(next.log), lifetime);
  } catch (error) {
    refuse(messageOf(error), "previous");
    return stopping.aborted ? before : startAgain(before, lifetime);
  }
}

const storeAnswersWithinMs = 5_000;

/** Why a daemon with the next configuration could not use its store; null: nothing is known against it. */
async function storeFault({ daemon, config }: Running, next: Config): Promise<string | null> {
  try {
    const late = setTimeout(storeAnswersWithinMs, "late", { ref: false });
    const answer = await Promise.race([daemon.checkStore(), late]);
    if (answer === "late") return "the store does not answer";
    // This one has its own store open: that cannot be opened twice.
    if (resolve(next.store.path) !== resolve(config.store.path)) {
      await openStore(next.store.path).close();
    }
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

const startAgainMs = 1_000;

/** Runs with the configuration before. Where its store cannot be opened, it is retried until the process is to stop. */
async function startAgain(before: Running, lifetime: Lifetime): Promise<Running> {
  const { config, log } = before;
  const { stopping } = lifetime;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await start(config, log, lifetime);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (isFirst) {
        log.error(
          { event: "store.not_opened", reason: error.message },
          `the store cannot be opened; it is retried every second: ${error.message}`,
        );
      }
      await setTimeout(startAgainMs, null, { signal: stopping }).catch(() => null);
      if (stopping.aborted) return before;
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export type Reloads = ReturnType<typeof createReloads>;

/**
 * Reloads the configuration on request. One with faults changes nothing.
 *
 * @param file shown in faults
 */
export function createReloads(file: string, load: () => LoadedConfig, clock: Clock) {
  let last: LastReload = { successful: true, successAtMs: clock.now().utcMs };
  /** The latest that was read and is not running. */
  let wanted: Config | null = null;
  let begun = Promise.withResolvers<void>();
  return {
    request(): ReloadAnswer {
      const loaded = load();
      if (loaded.kind === "faulty") {
        last = { ...last, successful: false };
        return { kind: "refused", reason: formatFaults(file, loaded.faults) };
      }
      last = { successful: true, successAtMs: clock.now().utcMs };
      wanted = loaded.config;
      return { kind: "accepted", begin: () => begun.resolve() };
    },
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
    /** The last configuration of `next` could not be run. Ignored when another was read since. */
    failed(): void {
      if (!wanted) last = { ...last, successful: false };
    },
    last: (): LastReload => last,
  };
}
