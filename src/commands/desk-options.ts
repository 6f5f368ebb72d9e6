import { Option } from "commander";
import type { Command } from "commander";
import { atLeast } from "./numbers.ts";

/** Where a command finds the data, and for whom it prints it. */
export function forDesk(command: Command): Command {
  return command
    .addOption(new Option("-c, --config <file>", "the configuration, in YAML"))
    .addOption(
      new Option(
        "--url <address>",
        "instead of it: the address of the sandwatch that runs, such as http://127.0.0.1:9740",
      ).conflicts("config"),
    )
    .option("--json", "for programs");
}

/** Of a list that is given a page at a time. */
export function paged(command: Command): Command {
  return command
    .option("--limit <n>", "so many at most", atLeast(1))
    .option("--before <place>", "what follows, as the list before says");
}
