import type { Command } from "commander";
import { listServers } from "../api/operations/targets.ts";
import { statuses } from "../fleet/model.ts";
import { callsOperation, timesCommand } from "./api-command.ts";
import { presentStatusCell } from "./cells.ts";
import { labelHelp, collected, wholeNumber, WordsOption } from "./options.ts";
import { listText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addServers(program: Command, terminal: Terminal): void {
  timesCommand(program.command("servers"), "list servers in their present status")
    .addOption(new WordsOption("--status <statuses>", "only these, separated by commas", statuses))
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--label <labels>", labelHelp)
    .option("--name <name>", "only servers of this name; can be repeated", collected)
    .option("--server <server>", "the id of a server, a prefix of it, or a name")
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--tag <tags>", "only servers with one of these tags, separated by commas")
    .option("--benchmark <names>", "only these benchmarks, separated by commas")
    .option("--limit <n>", "the largest number of entries", wholeNumber(1))
    .option("--cursor <cursor>", "continue after this cursor, which the previous page prints")
    .action(
      callsOperation(terminal, {
        operation: listServers,
        request: ({ name, ...fields }) => ({ ...fields, server_name: name }),
        text: ({ servers, next }, look) =>
          listText(
            servers,
            "There are no such servers.",
            next,
            {
              status: presentStatusCell,
              since: ({ since }, { timeText }) => timeText(since),
              region: "region",
              key: "key",
              name: "server_name",
              server: "server_id",
              sandbox: "sandbox_id",
            },
            look,
            "--cursor",
          ),
      }),
    );
}
