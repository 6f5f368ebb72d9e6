import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { counted } from "../fleet/plural.ts";
import { createDaemon } from "../app/daemon.ts";
import type { Daemon } from "../app/daemon.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import type { Logger } from "../lib/logger.ts";
import { version } from "../lib/version.ts";
import { StoreError, StoreLostError, StoreUnavailableError } from "../store/store-error.ts";
import { isSameStore } from "../store/store-settings.ts";
import { openConfiguredReadOnly, openConfiguredStore } from "../store/store.ts";
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
  readonly daemon: Daemon;
  readonly config: Config;
  readonly log: Logger;
  readonly reloads: Reloads;
  readonly stopping: AbortSignal;
}

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
    if (answer.kind === "accepted") answer.begin();
    else log.error({ event: "config.refused", reason: answer.reason }, answer.reason);
  });
  const first = { config, log, reloads, stopping: stop.signal };
  let running = await startWhenOpen(first, StoreUnavailableError);
  if (!stop.signal.aborted) notifySystemd(log);
  while (running) {
    const next: Config | null = await Promise.race([stopped, reloads.next()]);
    if (next === null) break;
    running = await (next === running.config ? startOver(running) : restart(running, next));
    ({ log } = running);
  }
  await running?.daemon.stop();
  log.info({ event: "daemon.stopped" }, "stopped");
}

/** When the process is stopped meanwhile, the daemon is created but neither serves nor polls. */
async function start(next: Omit<Running, "daemon">): Promise<Running> {
  const { config, log, reloads, stopping } = next;
  for (const note of configNotes(config)) log.warn({ event: "config.note" }, note);
  const onStoreLost = (): void => reloads.startOver(config);
  const daemon = await createDaemon(config, { log, reloads, onStoreLost });
  if (stopping.aborted) return { ...next, daemon };
  try {
    const address = await daemon.start();
    const targets = configuredTargets(config).length;
    log.info(
      { event: "daemon.started", version, address, targets },
      `sandwatch ${version} monitors ${counted(targets, "target")}; metrics at ${address}/metrics`,
    );
    return { ...next, daemon };
  } catch (error) {
    await daemon.stop();
    const { healthListen } = config.http;
    const isOfHealth = Object(error).port === (healthListen?.port ?? null);
    throw asListenFault(error, isOfHealth ? "http.health_listen" : "http.listen");
  }
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
    return before;
  }
  log.info({ event: "daemon.reloading" }, "applying the changed configuration");
  await stopDaemon(before);
  if (stopping.aborted) return before;
  try {
    return await start({ config, log: createLogger(config.log), reloads, stopping });
  } catch (error) {
    refuse(messageOf(error));
    return startAgain(before);
  }
}

/** Runs with the same configuration after its store was lost: what is stored is read again. */
async function startOver(before: Running): Promise<Running> {
  before.log.info({ event: "daemon.reloading" }, "reading what is stored again");
  await stopDaemon(before);
  return startAgain(before);
}

async function stopDaemon({ daemon, log }: Running): Promise<void> {
  await daemon.stop().catch((err: unknown) => {
    log.error({ event: "daemon.stop_failed", err }, "the previous daemon did not stop cleanly");
  });
}

/** Why a daemon with the next configuration could not use its store; null: no reason is known. */
async function storeFault({ daemon, config }: Running, next: Config): Promise<string | null> {
  try {
    const late = setTimeout(5_000, "late", { ref: false });
    const answer = await Promise.race([daemon.checkStore(), late]);
    if (answer === "late") return "the store does not answer";
    // This one has its own store open: that cannot be opened twice.
    if (!isSameStore(next.store, config.store)) {
      const cluster = next.cluster ? {} : undefined;
      await (await openConfiguredStore(next.store, undefined, { cluster })).close();
    } else if (next.store.postgres !== null) {
      // With another password, for example.
      await (await openConfiguredReadOnly(next.store)).close();
    }
    return null;
  } catch (error) {
    // It cannot be used any more, whatever the configuration is.
    return error instanceof StoreLostError ? null : messageOf(error);
  }
}

/** Runs with the configuration before. Where its store cannot be opened, it is retried until the process is to stop. */
async function startAgain(before: Running): Promise<Running> {
  return (await startWhenOpen(before, StoreError)) ?? before;
}

/**
 * Retries while the store cannot be opened because of such an error.
 *
 * @returns null: the process is to stop
 */
async function startWhenOpen(
  next: Omit<Running, "daemon">,
  retried: typeof StoreError,
): Promise<Running | null> {
  const { log, stopping } = next;
  for (let isFirst = true; !stopping.aborted; isFirst = false) {
    try {
      return await start(next);
    } catch (error) {
      if (!(error instanceof retried)) throw error;
      if (isFirst) {
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
