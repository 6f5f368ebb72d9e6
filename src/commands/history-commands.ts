import { Option } from "commander";
import type { Command } from "commander";
import { forDesk, paged } from "./desk-options.ts";
import type { Terminal } from "./terminal.ts";

/** Adds the commands for what happened. */
export function addHistoryCommands(program: Command, terminal: Terminal): void {
  filtered(paged(forDesk(program.command("changes"))))
    .description("which servers changed status, latest first")
    .option("--status <statuses>", "from or to these; idle, occupied, error, unknown, absent")
    .option("--from-status <statuses>", "from these alone; several with commas")
    .option("--to-status <statuses>", "to these alone; several with commas")
    .option("--lapses", "also which servers were missing from a listing, and seen again")
    .action(async (options) => (await import("./changes.ts")).changes(options, terminal));

  filtered(paged(forDesk(program.command("incidents"))))
    .description("what is and was wrong, latest first")
    .option("--state <states>", "pending, firing, resolved; several with commas")
    .option("--rule <names>", "of these rules alone; several with commas")
    .option("--severity <severities>", "critical, warning, info; several with commas")
    .action(async (options) => (await import("./incidents.ts")).incidents(options, terminal));
}

function filtered(command: Command): Command {
  return command
    .option("--region <names>", "of these regions alone; several with commas")
    .option("--key <names>", "of these keys alone; several with commas")
    .option("--server <server>", "a server's id, the beginning of one, or a name")
    .option("--sandbox <sandbox>", "a sandbox's id, or the beginning of one")
    .option("--name <name>", "of servers of this name alone; may be given several times", collect)
    .option(
      "--from <time>",
      "a time such as 2026-11-21T18:00Z, how long ago such as 7d, or a word such as yesterday",
    )
    .option("--to <time>", "the same; left out: until now")
    .option("--tz <zone>", "of which zone these are, such as Europe/Berlin; left out: UTC")
    .addOption(
      new Option("--follow", "print what comes as it comes, until Ctrl-C").conflicts([
        "to",
        "before",
      ]),
    );
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
