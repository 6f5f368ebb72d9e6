import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { counted } from "../core/counted.ts";
import { createDaemon } from "../daemon.ts";
import type { Daemon } from "../daemon.ts";
import { systemClock } from "../platform/clock.ts";
import { createLogger } from "../platform/logger.ts";
import type { Logger } from "../platform/logger.ts";
import { tuneMemory } from "../platform/tune-memory.ts";
import { version } from "../platform/version.ts";
import { configNotes } from "./config-notes.ts";
import { asListenFault } from "./listen-fault.ts";
import { readConfig } from "./read-config.ts";
import { createReloads } from "./reloads.ts";
import type { Reloads } from "./reloads.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./until-stopped.ts";

/** A daemon that runs, with what it runs on. */
interface Running {
  readonly daemon: Daemon;
  readonly config: Config;
  readonly log: Logger;
}

/** The daemon, until a signal ends it. Asked to read its configuration again, it starts anew with it. */
export async function run(options: { readonly config: string }, terminal: Terminal): Promise<void> {
  tuneMemory();
  const { config: file } = options;
  const config = readConfig(file, terminal);
  const logFormat = terminal.isInteractive ? "pretty" : "json";
  const load = (): LoadedConfig => loadConfig(file, process.env, { logFormat });
  const reloads = createReloads(file, load, systemClock);
  const stopped = untilStopped();

  let log = createLogger(config.log);
  // From before the start until all has stopped: it would end the process.
  const onHangup = (): void => reloadAtSignal(reloads, log);
  process.on("SIGHUP", onHangup);
  let running = await start(config, log, reloads);
  for (;;) {
    const event = await Promise.race([stopped, reloads.next()]);
    if (typeof event === "string") {
      running.log.info({ event: "daemon.stopping", signal: event }, "stopping");
      break;
    }
    running = await startAnew(running, event, reloads);
    ({ log } = running);
  }
  await running.daemon.stop();
  process.off("SIGHUP", onHangup);
  running.log.info({ event: "daemon.stopped" }, "stopped");
}

async function start(config: Config, log: Logger, reloads: Reloads): Promise<Running> {
  for (const note of configNotes(config)) log.warn({ event: "config.note" }, note);
  const { request } = reloads;
  const last = (): Reloads["last"] => reloads.last;
  const daemon = await createDaemon(config, { log, reloads: { request, last } });
  try {
    const address = await daemon.start();
    log.info(
      { event: "daemon.started", version, address, targets: daemon.targets.length },
      `sandwatch ${version} watches ${counted(daemon.targets.length, "target")}; metrics at ${address}/metrics`,
    );
    return { daemon, config, log };
  } catch (error) {
    await daemon.stop();
    throw asListenFault(error, config.http, "http.listen");
  }
}

/** With the next configuration, or where that cannot be started with the one before. */
async function startAnew(
  { daemon, config, log }: Running,
  next: Config,
  reloads: Reloads,
): Promise<Running> {
  log.info({ event: "daemon.reloading" }, "going on with the configuration as it is now");
  await daemon.stop();
  try {
    return await start(next, createLogger(next.log), reloads);
  } catch (error) {
    reloads.failed();
    const reason = error instanceof Error ? error.message : String(error);
    log.error(
      { event: "config.refused", reason },
      `the configuration cannot be used, sandwatch goes on with the one before: ${reason}`,
    );
    return start(config, log, reloads);
  }
}

function reloadAtSignal({ request }: Reloads, log: Logger): void {
  const answer = request();
  if (answer.kind === "accepted") answer.begin();
  else log.error({ event: "config.refused", reason: answer.reason }, answer.reason);
}
