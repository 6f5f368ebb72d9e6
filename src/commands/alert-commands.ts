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
    .description("acknowledge an incident that fires: its reminders stop, its end is still told")
    .argument("<incident>", "its id, or the beginning of it")
    .requiredOption("--author <name>", "who you are")
    .option("--note <text>", "what there is to say of it")
    .action(async (incident: string, options: AckOptions) =>
      (await import("./ack.ts")).ack(incident, options, terminal),
    );

  addNotificationCommands(program, terminal);

  forDesk(program.command("drift"))
    .description("how the service's answers differ from its interface, latest news first")
    .action(async (options) => (await import("./drift.ts")).drift(options, terminal));

  forDesk(program.command("conformance"))
    .description("ask every operation of the service once: how its answers go with the interface")
    .option("--region <name>", "which one; left out: the only one")
    .option("--key <name>", "which one; left out: the only one")
    .option("--user <id>", "a user to look up")
    .option("--universe <id>", "a universe to look up; left out: the first one listed")
    .option("--client <id>", "an OAuth client to look up")
    .addOption(
      new Option(
        "--base-url <address>",
        "instead of a configuration: any deployment's, with its API key in SANDWATCH_API_KEY",
      ).conflicts(["config", "url"]),
    )
    .action(async (options) => (await import("./conformance.ts")).conformance(options, terminal));
  forDesk(program.command("probes"))
    .description("how the probes do: the last run of each, and with --json those before it")
    .option("--probe <names>", "these alone; several with commas")
    .option("--limit <n>", "so many runs of each", atLeast(1))
    .action(async (options) => (await import("./probes.ts")).probes(options, terminal));

  forDesk(program.command("explain"))
    .description("all that happened to a server and who was told what, oldest first")
    .argument("<server>", "its id, the beginning of it, or its name")
    .action(async (server: string, options) =>
      (await import("./explain.ts")).explain(server, options, terminal),
    );
}

function addSilenceCommands(program: Command, terminal: Terminal): void {
  const silence = program
    .command("silence")
    .description("keep incidents from being told for a while");

  paged(forDesk(silence.command("list")))
    .description("silences and maintenance windows in force or to come")
    .option("--ended", "those too that have ended")
    .action(async (options) => (await import("./silence.ts")).listSilences(options, terminal));

  const add = forDesk(silence.command("add"))
    .description(
      "add a silence about all that fits each of the fields given (* for any characters)",
    )
    .requiredOption("--author <name>", "who you are")
    .requiredOption("--reason <text>", "why it is to be silent")
    .option("--for <duration>", "how long, such as 2h")
    .option("--until <time>", "until when, such as 2026-11-21T18:00:00Z")
    .option("--from <time>", "from when; left out: from now");
  for (const { flags, says } of matchOptions) add.option(`${flags} <patterns...>`, says);
  add.action(async (options: AddSilenceOptions & Given) =>
    (await import("./silence.ts")).addSilence({ ...options, match: readGiven(options) }, terminal),
  );

  forDesk(silence.command("expire"))
    .description("end a silence now")
    .argument("<id>", "its id, or the beginning of it")
    .action(async (id: string, options) =>
      (await import("./silence.ts")).expireSilence(id, options, terminal),
    );
}

function addNotificationCommands(program: Command, terminal: Terminal): void {
  const notifications = program
    .command("notifications")
    .description("what receivers were told, and what was given up");

  paged(forDesk(notifications.command("list", { isDefault: true })))
    .description("latest first")
    .option("--state <states>", "pending, delivered, dead, discarded; several with commas")
    .option("--receiver <name>", "to this receiver alone")
    .action(async (options) =>
      (await import("./notifications.ts")).listNotifications(options, terminal),
    );

  forDesk(notifications.command("show"))
    .description("one of them, with every attempt to deliver it")
    .argument("<seq>", "its number in the list")
    .action(async (seq: string, options) =>
      (await import("./notifications.ts")).showNotification(seq, options, terminal),
    );

  chosen(forDesk(notifications.command("replay")))
    .description("try to deliver again what was given up")
    .action(async (options) =>
      (await import("./notifications.ts")).replayNotifications(options, terminal),
    );

  chosen(forDesk(notifications.command("discard")))
    .description("let be what was given up")
    .action(async (options) =>
      (await import("./notifications.ts")).discardNotifications(options, terminal),
    );
}

function chosen(command: Command): Command {
  return command
    .option("--seq <numbers...>", "these, by their numbers in the list", collectNumbers)
    .option("--receiver <name>", "all of this receiver");
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
