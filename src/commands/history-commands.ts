import { Option } from "commander";
import type { Command } from "commander";
import { forDesk, paged } from "./desk-options.ts";
import type { Terminal } from "./terminal.ts";

/** Adds the commands for what happened. */
export function addHistoryCommands(program: Command, terminal: Terminal): void {
  filtered(paged(forDesk(program.command("changes"))))
    .description("list changes of servers, latest first")
    .option(
      "--status <statuses>",
      "only changes from or to these statuses: idle, occupied, error, unknown, absent",
    )
    .option("--from-status <statuses>", "only changes from these statuses, separated by commas")
    .option("--to-status <statuses>", "only changes to these statuses, separated by commas")
    .option("--lapses", "also list when servers were missing from a listing and were listed again")
    .action(async (options) => (await import("./changes.ts")).changes(options, terminal));

  filtered(paged(forDesk(program.command("incidents"))))
    .description("list incidents, latest first")
    .option("--state <states>", "only these states, separated by commas: pending, firing, resolved")
    .option("--rule <names>", "only incidents of these rules, separated by commas")
    .option(
      "--severity <severities>",
      "only these severities, separated by commas: critical, warning, info",
    )
    .action(async (options) => (await import("./incidents.ts")).incidents(options, terminal));
}

function filtered(command: Command): Command {
  return command
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--server <server>", "the id of a server, a prefix of it, or a name")
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--name <name>", "only servers of this name; can be repeated", collect)
    .option(
      "--from <time>",
      "the start: a time such as 2026-11-21T18:00Z, a duration ago such as 7d, or a word such as yesterday",
    )
    .option("--to <time>", "the end, in the same form (default: now)")
    .option("--tz <zone>", "the time zone of --from and --to, such as Europe/Berlin (default: UTC)")
    .addOption(
      new Option("--follow", "print new entries as they are stored, until Ctrl-C").conflicts([
        "to",
        "before",
      ]),
    );
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
