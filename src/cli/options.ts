import { InvalidArgumentError, Option, type Command } from "commander";
import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import { loadConfig, type LoadOptions } from "../config/load-config.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

const configVariable = "SANDWATCH_CONFIG";

export const labelHelp = "only keys with these labels, such as team=search, separated by commas";

/** Limits what a command shows to some targets. */
export function placeOptions(command: Command): Command {
  return command
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--label <labels>", labelHelp);
}

/** Shows a list by pages. */
export function pageOptions(command: Command): Command {
  return command
    .option("--limit <n>", "the largest number of entries", wholeNumber(1))
    .option("--cursor <cursor>", "continue after this cursor, which the previous page prints");
}

/** A configuration that a command needs. */
export function configOption(): Option {
  return optionalConfigOption().env(configVariable).makeOptionMandatory();
}

/** A configuration that a command can use instead of something else. Its default is `usualConfig`. */
export function optionalConfigOption(): Option {
  return new Option("-c, --config <file>", "the configuration file");
}

/** The configuration file that the environment names. Undefined: none. */
export function usualConfig(): string | undefined {
  return process.env[configVariable];
}

/** @throws {CommandError} with every fault of the configuration */
export function readConfig(file: string, terminal: Terminal, options: LoadOptions = {}): Config {
  const logFormat = terminal.isInteractive ? "pretty" : "json";
  const loaded = loadConfig(file, process.env, { logFormat, ...options });
  if (loaded.kind === "ok") return loaded.config;
  throw wrongUse(formatFaults(file, loaded.faults));
}

export function seedOption(): Option {
  return new Option("--seed <n>", "seed of the simulated service; equal seeds give equal data")
    .argParser(wholeNumber(0))
    .default(1);
}

/** An option with some of these words, separated by commas. */
export class WordsOption extends Option {
  /** @param isOther whether a word that is not listed is allowed, too. Default: none is */
  constructor(
    flags: string,
    description: string,
    words: readonly string[],
    isOther: (word: string) => boolean = () => false,
  ) {
    super(flags, description);
    this.argParser((text) => {
      // Whether there may be none is for the operation to say.
      const wrong = text
        .split(",")
        .find((word) => word !== "" && !words.includes(word) && !isOther(word));
      if (wrong === undefined) return text;
      throw new InvalidArgumentError(`"${wrong}" is not one of ${words.join(", ")}.`);
    });
    this.argChoices = [...words];
  }
}

/** An option that can be repeated. */
export const collected = (text: string, earlier: readonly string[] = []) => [...earlier, text];

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

/** Why an address cannot be listened on, by the code of the error, and what can be done beside choosing another one. */
const listenFaults = new Map([
  ["EADDRINUSE", "is in use by another process; stop it or "],
  ["EACCES", "may not be used by this user, as most ports below 1024; "],
  ["EADDRNOTAVAIL", "is not an address of this machine; "],
  ["EAFNOSUPPORT", "is of a family that this machine does not support; "],
  ["ENOTFOUND", "is a name without an address; "],
  ["EAI_AGAIN", "is a name that cannot be resolved at present; try again or "],
]);

interface ListenError extends NodeJS.ErrnoException {
  readonly address?: string;
  /** Of a name that cannot be resolved. */
  readonly hostname?: string;
  readonly port?: number;
}

function isListenError(error: unknown): error is ListenError {
  const isSystemError = error instanceof Error && "syscall" in error;
  return isSystemError && ["listen", "getaddrinfo"].includes(String(error.syscall));
}

/** A failure to listen as a line for a person; any other error as it is. */
export function asListenFault(error: unknown, setting: string): unknown {
  if (!isListenError(error)) return error;
  const { code = "", hostname = "", address: host = hostname, port } = error;
  const address = host.includes(":") ? `[${host}]` : host;
  const at = port === undefined ? address : `${address}:${port}`;
  const why = listenFaults.get(code) ?? `cannot be used (${code}); `;
  return new CommandError(`${setting} ${at} ${why}set ${setting}.`);
}
