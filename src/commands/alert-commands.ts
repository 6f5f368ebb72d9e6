import { Option } from "commander";
import type { Command } from "commander";
import { matchFields } from "../core/written-match.ts";
import type { WrittenMatch } from "../core/written-match.ts";
import type { AckOptions } from "./ack.ts";
import { forDesk, paged } from "./desk-options.ts";
import { atLeast } from "./numbers.ts";
import type { AddSilenceOptions } from "./silence.ts";
import type { Terminal } from "./terminal.ts";

/** Adds the commands for what people do about alerts. */
export function addAlertCommands(program: Command, terminal: Terminal): void {
  addSilenceCommands(program, terminal);

  forDesk(program.command("ack"))
    .description(
      "acknowledge a firing incident: stops its reminders; you are still notified when it resolves",
    )
    .argument("<incident>", "the id of the incident, or a prefix of it")
    .requiredOption("--author <name>", "your name")
    .option("--note <text>", "a note, shown with the acknowledgement")
    .action(async (incident: string, options: AckOptions) =>
      (await import("./ack.ts")).ack(incident, options, terminal),
    );

  addNotificationCommands(program, terminal);

  forDesk(program.command("drift"))
    .description("list how the service's responses deviate from its interface, latest first")
    .action(async (options) => (await import("./drift.ts")).drift(options, terminal));

  forDesk(program.command("conformance"))
    .description(
      "call every operation of the service once and compare the responses with the interface",
    )
    .option("--region <name>", "the region (default: the only one)")
    .option("--key <name>", "the key (default: the only one)")
    .option("--user <id>", "the id of a user to look up")
    .option("--universe <id>", "the id of a universe to look up (default: the first one listed)")
    .option("--client <id>", "the id of an OAuth client to look up")
    .addOption(
      new Option(
        "--base-url <address>",
        "the base address of a deployment, instead of a configuration; its API key is read from SANDWATCH_API_KEY",
      ).conflicts(["config", "url"]),
    )
    .action(async (options) => (await import("./conformance.ts")).conformance(options, terminal));
  forDesk(program.command("probes"))
    .description("show the last run of each probe; with --json earlier runs too")
    .option("--probe <names>", "only these probes, separated by commas")
    .option("--limit <n>", "the number of runs of each probe", atLeast(1))
    .action(async (options) => (await import("./probes.ts")).probes(options, terminal));

  forDesk(program.command("explain"))
    .description(
      "show everything that happened to a server and all notifications about it, oldest first",
    )
    .argument("<server>", "the id of the server, a prefix of it, or its name")
    .action(async (server: string, options) =>
      (await import("./explain.ts")).explain(server, options, terminal),
    );
}

function addSilenceCommands(program: Command, terminal: Terminal): void {
  const silence = program.command("silence").description("list, add and expire silences");

  paged(forDesk(silence.command("list")))
    .description("list active and scheduled silences and maintenance windows")
    .option("--ended", "also list those that have ended")
    .action(async (options) => (await import("./silence.ts")).listSilences(options, terminal));

  const add = forDesk(silence.command("add"))
    .description("add a silence for incidents that match all given fields (* for any characters)")
    .requiredOption("--author <name>", "your name")
    .requiredOption("--reason <text>", "the reason")
    .option("--for <duration>", "how long it lasts, such as 2h")
    .option("--until <time>", "when it ends, such as 2026-11-21T18:00:00Z")
    .option("--from <time>", "when it starts (default: now)");
  for (const { flags, says } of matchOptions) add.option(`${flags} <patterns...>`, says);
  add.action(async (options: AddSilenceOptions & Given) =>
    (await import("./silence.ts")).addSilence({ ...options, match: readGiven(options) }, terminal),
  );

  forDesk(silence.command("expire"))
    .description("end a silence now")
    .argument("<id>", "the id of the silence, or a prefix of it")
    .action(async (id: string, options) =>
      (await import("./silence.ts")).expireSilence(id, options, terminal),
    );
}

function addNotificationCommands(program: Command, terminal: Terminal): void {
  const notifications = program
    .command("notifications")
    .description("list, show, replay and discard notifications");

  paged(forDesk(notifications.command("list", { isDefault: true })))
    .description("list notifications, latest first")
    .option(
      "--state <states>",
      "only these states, separated by commas: pending, delivered, dead, discarded",
    )
    .option("--receiver <name>", "only notifications to this receiver")
    .action(async (options) =>
      (await import("./notifications.ts")).listNotifications(options, terminal),
    );

  forDesk(notifications.command("show"))
    .description("show a notification with all delivery attempts")
    .argument("<seq>", "its number in the list")
    .action(async (seq: string, options) =>
      (await import("./notifications.ts")).showNotification(seq, options, terminal),
    );

  chosen(forDesk(notifications.command("replay")))
    .description("send dead letters again")
    .action(async (options) =>
      (await import("./notifications.ts")).replayNotifications(options, terminal),
    );

  chosen(forDesk(notifications.command("discard")))
    .description("discard dead letters")
    .action(async (options) =>
      (await import("./notifications.ts")).discardNotifications(options, terminal),
    );
}

function chosen(command: Command): Command {
  return command
    .option("--seq <numbers...>", "the dead letters with these numbers in the list", collectNumbers)
    .option("--receiver <name>", "all dead letters of this receiver");
}

function collectNumbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, ...text.split(",").map(atLeast(0))];
}

/** As the options for the fields of a match are named by commander. */
type Given = Readonly<Record<string, readonly string[] | undefined>>;

const patternsOf: Readonly<Record<keyof WrittenMatch, string>> = {
  rule: "names of rules",
  severity: "critical, warning, info",
  region: "names of regions",
  key: "names of keys",
  probe: "names of probes",
  sandbox_id: "ids of sandboxes",
  server_id: "ids of servers",
  server_name: "names of servers",
  benchmark: "benchmarks of servers",
  tag: "tags of servers",
};

const matchOptions = matchFields.map((field) => {
  const name = field === "sandbox_id" || field === "server_id" ? field.replace("_id", "") : field;
  const option = name.replaceAll("_", "-");
  const given = option.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { field, flags: `--${option}`, given, says: patternsOf[field] };
});

function readGiven(options: Given): WrittenMatch {
  return Object.fromEntries(
    matchOptions.flatMap(({ field, given }) => {
      const values = options[given];
      return values ? [[field, values]] : [];
    }),
  );
}
