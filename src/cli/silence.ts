import { Option } from "commander";
import type { Command, OptionValues } from "commander";
import { changeSilence, expireSilence } from "../api/operations/change-silence.ts";
import { addSilence, listSilences } from "../api/operations/silences.ts";
import { severities } from "../alerts/rule.ts";
import { matchText } from "../alerts/silence.ts";
import type { SilenceMatch } from "../alerts/silence.ts";
import { counted } from "../fleet/text.ts";
import { apiCommand, callsOperation, listCommand } from "./api-command.ts";
import { wrongUse } from "./exit-codes.ts";
import { lists } from "./list-history.ts";
import type { Terminal } from "./terminal.ts";

export function addSilenceCommands(program: Command, terminal: Terminal): void {
  const silence = program.command("silence").description("list, add, change and expire silences");

  listCommand(silence.command("list"), "list active and scheduled silences and maintenance windows")
    .option("--ended", "also list those that have ended")
    .action(
      lists(terminal, {
        operation: listSilences,
        request: (fields) => fields,
        items: ({ silences }) => silences,
        nothing: "There are no silences.",
        columns: {
          id: "id",
          state: ({ state }) => state.replace("_", " "),
          from: ({ starts_at: at }, { timeText }) => timeText(at),
          until: ({ ends_at: at }, { timeText }) => timeText(at),
          match: ({ match }) => matchText(match),
          author: ({ author, changed_by: changer }) =>
            changer === null || changer === author ? author : `${author}, changed by ${changer}`,
          reason: "reason",
        },
      }),
    );

  const add = apiCommand(
    silence.command("add"),
    "add a silence for an incident, or for incidents that match all given fields (* for any characters)",
  )
    .argument("[incident]", "the id of an incident, or a prefix of it: its rule and subject")
    .option("--all", "everything")
    .requiredOption("--author <name>", "your name")
    .requiredOption("--reason <text>", "the reason")
    .option("--for <duration>", "how long it lasts, such as 2h")
    .option("--until <time>", "when it ends, such as 2026-11-21T18:00:00Z")
    .option("--from <time>", "when it starts (default: now)")
    .option("--force", "add it although nothing has one of the given names");
  for (const option of Object.values(matchOptions)) add.addOption(option);
  add.action(
    callsOperation(terminal, {
      operation: addSilence,
      request({ author, reason, from, until, for: duration, all, force, ...patterns }, incident) {
        if ((until === undefined) === (duration === undefined)) {
          throw wrongUse("Give either --for, such as 2h, or --until, a time.");
        }
        const fields = matchOf(patterns);
        const isMatch = Object.keys(fields).length > 0;
        if (Number(isMatch) + Number(all === true) + Number(incident !== "") !== 1) {
          throw wrongUse("Give the id of an incident, or options such as --rule, or --all.");
        }
        const match = all ? { rule: ["*"] } : fields;
        const times = { starts_at: from, ends_at: until, duration };
        return { ...(incident === "" ? { match } : { incident }), author, reason, force, ...times };
      },
      text: ({ id, state, starts_at: start, ends_at: end, matched, prolonged }, look) =>
        `silence ${id}${prolonged ? ", which matches the same, is prolonged" : ""}${state === "to_come" ? `, which begins ${look.timeText(start)}, lasts` : ""} ${look.untilText(end)}; it matches ${counted(matched, "firing incident")}\n`,
    }),
  );

  apiCommand(silence.command("change"), "shorten or prolong a silence")
    .argument("<id>", "the id of the silence, or a prefix of it")
    .requiredOption("--author <name>", "your name")
    .option("--for <duration>", "how long it lasts from now, such as 2h")
    .option("--until <time>", "when it ends, such as 2026-11-21T18:00:00Z")
    .action(
      callsOperation(terminal, {
        operation: changeSilence,
        request({ author, until, for: duration }, id) {
          if ((until === undefined) === (duration === undefined)) {
            throw wrongUse("Give either --for, such as 2h, or --until, a time.");
          }
          return { id, author, ends_at: until, duration };
        },
        text: ({ id, ends_at: end }, look) => `silence ${id} ${look.untilText(end)}\n`,
      }),
    );

  apiCommand(silence.command("expire"), "end a silence now")
    .argument("<id>", "the id of the silence, or a prefix of it")
    .option("--author <name>", "your name, shown with the silence")
    .action(
      callsOperation(terminal, {
        operation: expireSilence,
        request: ({ author }, id) => ({ id, author }),
        text: ({ id }) => `silence ${id} has ended\n`,
      }),
    );
}

/** By field of the match. */
const matchOptions: Readonly<Record<keyof SilenceMatch, Option>> = {
  rule: new Option("--rule <patterns...>", "names of rules"),
  severity: new Option("--severity <patterns...>", `severities: ${severities.join(", ")}`),
  region: new Option("--region <patterns...>", "names of regions"),
  key: new Option("--key <patterns...>", "names of keys"),
  probe: new Option("--probe <patterns...>", "names of probes"),
  sandbox_id: new Option("--sandbox <patterns...>", "ids of sandboxes"),
  server_id: new Option("--server <patterns...>", "ids of servers"),
  server_name: new Option("--server-name <patterns...>", "names of servers"),
  benchmark: new Option("--benchmark <patterns...>", "benchmarks of servers"),
  tag: new Option("--tag <patterns...>", "tags of servers"),
};

function matchOf(patterns: OptionValues): Record<string, string[]> {
  const fields = Object.entries(matchOptions).map(([field, option]) => [
    field,
    patterns[option.attributeName()],
  ]);
  return Object.fromEntries(fields.filter(([, given]) => given !== undefined));
}
