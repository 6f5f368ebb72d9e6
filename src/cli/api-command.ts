import { Option } from "commander";
import type { Command, OptionValues } from "commander";
import type { z } from "zod";
import type { Operation } from "../api/operation.ts";
import { callOperation } from "./call-api.ts";
import { lookOf, type Look } from "./look.ts";
import { optionalConfigOption, wholeNumber } from "./options.ts";
import { show } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** Gives a command the options that say where its answer comes from, and for whom it is printed. */
export function apiCommand(command: Command, description: string): Command {
  return daemonCommand(command, description).option("--json", "print JSON");
}

/** Gives a command the options that say which daemon it calls. */
export function daemonCommand(command: Command, description: string): Command {
  return command
    .description(description)
    .addOption(optionalConfigOption())
    .addOption(
      new Option(
        "--url <address>",
        "the address of a running sandwatch, instead of a configuration (default: $SANDWATCH_URL)",
      ).conflicts("config"),
    )
    .option(
      "--token-file <file>",
      "a file with the token for the daemon (default: $SANDWATCH_TOKEN)",
    );
}

/** The same for a command that prints times. */
export function timesCommand(command: Command, description: string): Command {
  return apiCommand(command, description).option(
    "--timestamps",
    "show times instead of how long ago they were",
  );
}

/** The same for a list that is printed by the page. */
export function listCommand(command: Command, description: string): Command {
  return timesCommand(command, description)
    .option("--limit <n>", "the largest number of entries", wholeNumber(1))
    .option("--before <cursor>", "continue after this cursor, which the previous page prints");
}

interface Calling<Request extends z.ZodType, View extends object> {
  readonly operation: Operation<Request, z.ZodType<View>>;
  /** @param fields the options, but for those of `apiCommand` */
  readonly request: (fields: OptionValues, argument: string) => z.input<Request>;
  readonly text: (view: View, look: Look) => string;
}

/** The action of a command that calls one operation and prints the response. */
export function callsOperation<Request extends z.ZodType, View extends object>(
  terminal: Terminal,
  { operation, request, text }: Calling<Request, View>,
) {
  return async function call(this: Command): Promise<void> {
    const { config, url, json, tokenFile, timestamps, ...fields } = this.opts();
    const [argument = ""] = this.args;
    const options = { config, url, json, tokenFile };
    const view = await callOperation(options, terminal, operation, request(fields, argument));
    show(view, options, terminal, (each) => text(each, lookOf(terminal, timestamps)));
  };
}
