import { InvalidArgumentError, Option } from "commander";
import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import { loadConfig } from "../config/load-config.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** A configuration that a command needs. */
export function configOption(): Option {
  return new Option("-c, --config <file>", "the configuration file").makeOptionMandatory();
}

/** @throws {CommandError} with every fault of the configuration */
export function readConfig(file: string, terminal: Terminal): Config {
  const logFormat = terminal.isInteractive ? "pretty" : "json";
  const loaded = loadConfig(file, process.env, { logFormat });
  if (loaded.kind === "ok") return loaded.config;
  throw wrongUse(formatFaults(file, loaded.faults));
}

export function seedOption(): Option {
  return new Option("--seed <n>", "seed of the simulated service; equal seeds give equal data")
    .argParser(wholeNumber(0))
    .default(1);
}

/** Reads a whole number. */
export function wholeNumber(
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number of ${range}.`);
  };
}

export const readPort = wholeNumber(0, 65_535);

/** A failure to listen as a line for a person; any other error as it is. */
export function asListenFault(error: unknown, setting: string): unknown {
  const isSystemError = error instanceof Error && "syscall" in error;
  if (!isSystemError || !["listen", "getaddrinfo"].includes(String(error.syscall))) return error;
  return new CommandError(`${error.message}. Give another address with ${setting}.`);
}
