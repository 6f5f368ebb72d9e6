import type { Command } from "commander";
import { addSilence, expireSilence, listSilences } from "../api/operations/silences.ts";
import type { SilenceView } from "../api/operations/silences.ts";
import { matchFields, matchText } from "../alerts/silence.ts";
import type { SilenceMatch } from "../alerts/silence.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { apiOptions, pageOptions } from "./options.ts";
import type { PageOptions } from "./options.ts";
import { nextLine, show } from "./output.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addSilenceCommands(program: Command, terminal: Terminal): void {
  const silence = program.command("silence").description("list, add and expire silences");

  pageOptions(apiOptions(silence.command("list")))
    .description("list active and scheduled silences and maintenance windows")
    .option("--ended", "also list those that have ended")
    .action(async (options: ListOptions) => {
      const { ended, limit, before } = options;
      const view = await callOperation(options, terminal, listSilences, { ended, limit, before });
      show(view, options, terminal, ({ silences, next }) =>
        silences.length === 0
          ? "There are no silences.\n"
          : renderTable(header, silences.map(cellsOf)) + nextLine(next),
      );
    });

  const add = apiOptions(silence.command("add"))
    .description("add a silence for incidents that match all given fields (* for any characters)")
    .requiredOption("--author <name>", "your name")
    .requiredOption("--reason <text>", "the reason")
    .option("--for <duration>", "how long it lasts, such as 2h")
    .option("--until <time>", "when it ends, such as 2026-11-21T18:00:00Z")
    .option("--from <time>", "when it starts (default: now)");
  for (const { flags, description } of matchOptions) {
    add.option(`${flags} <patterns...>`, description);
  }
  add.action(async (options: AddOptions & GivenPatterns) => {
    const { author, reason, from, until, for: duration } = options;
    if ((until === undefined) === (duration === undefined)) {
      throw wrongUse("A silence must end: give either --for (such as 2h) or --until (a time).");
    }
    const match = readPatterns(options);
    if (Object.keys(match).length === 0) {
      throw wrongUse("Give what to silence: at least one of --rule, --region, --server and so on.");
    }
    const times = { starts_at: from, ends_at: until, duration };
    const request = { match, author, reason, ...times };
    const view = await callOperation(options, terminal, addSilence, request);
    show(view, options, terminal, ({ id, state, starts_at: start, ends_at: end }) => {
      return `silence ${id}${state === "to_come" ? ` from ${start}` : ""} until ${end}\n`;
    });
  });

  apiOptions(silence.command("expire"))
    .description("end a silence now")
    .argument("<id>", "the id of the silence, or a prefix of it")
    .action(async (id: string, options: ApiOptions) => {
      const view = await callOperation(options, terminal, expireSilence, { id });
      show(view, options, terminal, (ended) => `silence ${ended.id} has ended\n`);
    });
}

type ListOptions = ApiOptions & PageOptions & { readonly ended?: boolean };

interface AddOptions extends ApiOptions {
  readonly author: string;
  readonly reason: string;
  readonly from?: string;
  readonly until?: string;
  readonly for?: string;
}

function wrongUse(message: string): CommandError {
  return new CommandError(message, exitCodes.wrongUse);
}

const header = ["id", "state", "from", "until", "match", "author", "reason"];

function cellsOf(silence: SilenceView): readonly string[] {
  return [
    silence.id,
    silence.state,
    silence.starts_at,
    silence.ends_at,
    matchText(silence.match),
    silence.author ?? "",
    silence.reason ?? "",
  ];
}

const descriptions: Readonly<Record<keyof SilenceMatch, string>> = {
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
  const property = option.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { field, flags: `--${option}`, property, description: descriptions[field] };
});

/** By the names that commander gives the options of a match. */
type GivenPatterns = Readonly<Record<string, unknown>>;

function readPatterns(options: GivenPatterns): Record<string, string[]> {
  return Object.fromEntries(
    matchOptions.flatMap(({ field, property }) => {
      const values = options[property];
      return Array.isArray(values) ? [[field, values.map(String)]] : [];
    }),
  );
}
