import { Option } from "commander";
import type { Command } from "commander";
import { atLeast } from "./numbers.ts";

/** Where a command finds the data, and for whom it prints it. */
export function forDesk(command: Command): Command {
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

/** Of a list that is given a page at a time. */
export function paged(command: Command): Command {
  return command
    .option("--limit <n>", "the most entries", atLeast(1))
    .option("--before <place>", "continue a list; the list before prints the value");
}
