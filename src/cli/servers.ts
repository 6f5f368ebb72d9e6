import type { Command } from "commander";
import { listServers, type ServerView } from "../api/operations/targets.ts";
import { statuses } from "../fleet/model.ts";
import { timesCommand } from "./api-command.ts";
import { presentStatusCell } from "./cells.ts";
import { lists } from "./list-history.ts";
import { collected, pageOptions, placeOptions, WordsOption } from "./options.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addServers(program: Command, terminal: Terminal): void {
  const command = program.command("servers");
  timesCommand(command, "list servers in their present status").addOption(
    new WordsOption("--status <statuses>", "only these, separated by commas", statuses),
  );
  placeOptions(command)
    .option("--name <name>", "only servers of this name; can be repeated", collected)
    .option("--server <server>", "the id of a server, a prefix of it, or a name")
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--tag <tags>", "only servers with one of these tags, separated by commas")
    .option("--benchmark <names>", "only these benchmarks, separated by commas");
  pageOptions(command).action(
    lists(terminal, {
      operation: listServers,
      request: ({ name, ...fields }) => ({ ...fields, server_name: name }),
      items: ({ servers }) => servers,
      nothing: "There are no such servers.",
      columns,
      more: "--cursor",
    }),
  );
}

const columns: Columns<ServerView> = {
  status: presentStatusCell,
  since: ({ since }, { timeText }) => timeText(since),
  region: "region",
  key: "key",
  name: "server_name",
  server: "server_id",
  sandbox: "sandbox_id",
};
