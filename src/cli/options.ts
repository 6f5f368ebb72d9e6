import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";

/** A configuration that a command needs. */
export function configOption(): Option {
  return new Option("-c, --config <file>", "the configuration file").makeOptionMandatory();
}

/** Where a command finds what it asks for, and for whom it prints it. */
export function apiOptions(command: Command): Command {
  return command
    .addOption(new Option("-c, --config <file>", "the configuration file"))
    .addOption(
      new Option(
        "--url <address>",
        "the address of a running sandwatch, instead of a configuration, such as http://127.0.0.1:9740",
      ).conflicts("config"),
    )
    .option("--json", "print JSON");
}

/** A page of a list. */
export interface PageOptions {
  readonly limit?: number;
  readonly before?: string;
}

export function pageOptions(command: Command): Command {
  return command
    .option("--limit <n>", "the largest number of entries", atLeast(1))
    .option(
      "--before <cursor>",
      "continue a list after this cursor, which the previous page prints",
    );
}

export function seedOption(): Option {
  return new Option("--seed <n>", "seed of the simulated service; equal seeds give equal data")
    .argParser(atLeast(0))
    .default(1);
}

/** Reads a whole number. */
export function atLeast(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`);
  };
}

export function readPort(text: string): number {
  const port = atLeast(0)(text);
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("A port is at most 65535.");
}
