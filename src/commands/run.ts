import { createDaemon } from "../daemon.ts";
import { createLogger } from "../platform/logger.ts";
import { version } from "../platform/version.ts";
import { configNotes } from "./config-notes.ts";
import { asListenFault } from "./listen-fault.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./until-stopped.ts";

/** The daemon, until a signal ends it. */
export async function run(options: { readonly config: string }, terminal: Terminal): Promise<void> {
  const config = readConfig(options.config, terminal);
  const log = createLogger(config.log);
  for (const note of configNotes(config)) log.warn({ event: "config.note" }, note);
  const stopped = untilStopped();
  const daemon = await createDaemon(config, { log });
  try {
    const address = await daemon.start();
    log.info(
      { event: "daemon.started", version, address, targets: daemon.targets.length },
      `sandwatch ${version} watches ${daemon.targets.length} targets; metrics at ${address}/metrics`,
    );
    const signal = await stopped;
    log.info({ event: "daemon.stopping", signal }, "stopping");
  } catch (error) {
    throw asListenFault(error, config.http, "http.listen");
  } finally {
    await daemon.stop();
  }
  log.info({ event: "daemon.stopped" }, "stopped");
}
