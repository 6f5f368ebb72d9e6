import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import { loadConfig } from "../config/load-config.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** @throws {CommandError} with every fault of the configuration */
export function readConfig(file: string, terminal: Terminal): Config {
  const logFormat = terminal.isInteractive ? "pretty" : "json";
  const loaded = loadConfig(file, process.env, { logFormat });
  if (loaded.kind === "ok") return loaded.config;
  throw new CommandError(formatFaults(file, loaded.faults), exitCodes.wrongUse);
}
