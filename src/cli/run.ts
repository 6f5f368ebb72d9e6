import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { counted } from "../fleet/counted.ts";
import { createDaemon } from "../app/daemon.ts";
import type { Daemon } from "../app/daemon.ts";
import { systemClock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import type { Logger } from "../lib/logger.ts";
import { version } from "../lib/version.ts";
import { StoreError } from "../store/store-error.ts";
import { openStore } from "../store/store.ts";
import { configNotes } from "./config-notes.ts";
import { asListenFault } from "./listen-fault.ts";
import { configOption } from "./options.ts";
import { readConfig } from "./read-config.ts";
import { createReloads } from "./reloads.ts";
import type { Reloads } from "./reloads.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./signals.ts";

/** A running daemon with its configuration. */
interface Running {
  readonly daemon: Daemon;
  readonly config: Config;
  readonly log: Logger;
}

export function addRun(program: Command, terminal: Terminal): void {
  program
    .command("run")
    .description("run the daemon until it is stopped")
    .addOption(configOption())
    .action((options: { readonly config: string }) => run(options, terminal));
}

/** Runs the daemon until a signal ends it. A reload of the configuration starts it again. */
async function run(options: { readonly config: string }, terminal: Terminal): Promise<void> {
  const { config: file } = options;
  const config = readConfig(file, terminal);
  const logFormat = terminal.isInteractive ? "pretty" : "json";
  const load = (): LoadedConfig => loadConfig(file, process.env, { logFormat });
  const reloads = createReloads(file, load, systemClock);

  let log = createLogger(config.log);
  const stopping = new AbortController();
  const stopped = untilStopped().then((signal) => {
    log.info({ event: "daemon.stopping", signal }, "stopping");
    stopping.abort();
    return null;
  });
  // Until the process ends: without a listener SIGHUP would end it.
  process.on("SIGHUP", () => {
    if (!stopping.signal.aborted) reloadAtSignal(reloads, log);
    else log.info({ event: "config.ignored" }, "SIGHUP is ignored: sandwatch is stopping");
  });
  let running = await start(config, log, reloads, stopping.signal);
  for (;;) {
    const next = await Promise.race([stopped, reloads.next()]);
    if (next === null) break;
    running = await startAnew(running, next, reloads, stopping.signal);
    ({ log } = running);
  }
  await running.daemon.stop();
  running.log.info({ event: "daemon.stopped" }, "stopped");
}

/** When it is stopped meanwhile, the daemon is created but neither serves nor polls. */
async function start(
  config: Config,
  log: Logger,
  reloads: Reloads,
  stopping: AbortSignal,
): Promise<Running> {
  for (const note of configNotes(config)) log.warn({ event: "config.note" }, note);
  const { request } = reloads;
  const last = (): Reloads["last"] => reloads.last;
  const daemon = await createDaemon(config, { log, reloads: { request, last } });
  if (stopping.aborted) return { daemon, config, log };
  try {
    const address = await daemon.start();
    log.info(
      { event: "daemon.started", version, address, targets: daemon.targets.length },
      `sandwatch ${version} monitors ${counted(daemon.targets.length, "target")}; metrics at ${address}/metrics`,
    );
    return { daemon, config, log };
  } catch (error) {
    await daemon.stop();
    throw asListenFault(error, config.http, "http.listen");
  }
}

/**
 * With the next configuration, or where that cannot be started with the one before. Once it is to stop,
 * nothing is started: what is returned has been stopped already.
 */
async function startAnew(
  before: Running,
  next: Config,
  reloads: Reloads,
  stopping: AbortSignal,
): Promise<Running> {
  const { daemon, log } = before;
  const fault = await storeFault(before, next);
  if (fault !== null) {
    reloads.failed();
    log.error(
      { event: "config.refused", reason: fault },
      `the configuration is not reloaded, the present one stays in use: ${fault}`,
    );
    return before;
  }
  log.info({ event: "daemon.reloading" }, "applying the changed configuration");
  await daemon.stop().catch((err: unknown) => {
    log.error({ event: "daemon.stop_failed", err }, "the previous daemon did not stop cleanly");
  });
  if (stopping.aborted) return before;
  try {
    return await start(next, createLogger(next.log), reloads, stopping);
  } catch (error) {
    reloads.failed();
    const reason = error instanceof Error ? error.message : String(error);
    log.error(
      { event: "config.refused", reason },
      `the configuration cannot be used, the previous one stays in use: ${reason}`,
    );
    return stopping.aborted ? before : startAgain(before, reloads, stopping);
  }
}

const storeAnswersWithinMs = 5_000;

/**
 * Why a daemon with the next configuration could not use its store; null: it can, as far as can be told
 * while this one runs.
 */
async function storeFault({ daemon, config }: Running, next: Config): Promise<string | null> {
  const noAnswer = new AbortController();
  const late = setTimeout(storeAnswersWithinMs, "late", { signal: noAnswer.signal });
  try {
    const answer = await Promise.race([daemon.checkStore(), late.catch(() => null)]);
    if (answer === "late") return "the store does not answer";
    // This one has its own store open: that cannot be opened twice.
    if (resolve(next.store.path) !== resolve(config.store.path)) {
      await openStore(next.store.path).close();
    }
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    noAnswer.abort();
  }
}

const startAgainMs = 1_000;

/**
 * With the configuration before: where its store cannot be opened, until it can or it is to stop. Then what is
 * returned has been stopped already.
 */
async function startAgain(
  before: Running,
  reloads: Reloads,
  stopping: AbortSignal,
): Promise<Running> {
  const { config, log } = before;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await start(config, log, reloads, stopping);
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

function reloadAtSignal({ request }: Reloads, log: Logger): void {
  const answer = request();
  if (answer.kind === "accepted") answer.begin();
  else log.error({ event: "config.refused", reason: answer.reason }, answer.reason);
}
