import type { Command } from "commander";
import { listSandboxes, type SandboxView } from "../api/operations/sandboxes.ts";
import { statuses } from "../fleet/model.ts";
import { countByStatus } from "../fleet/tallies.ts";
import { timesCommand } from "./api-command.ts";
import { presentStatusCell } from "./cells.ts";
import { lists } from "./list-history.ts";
import { collected, pageOptions, placeOptions, WordsOption } from "./options.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addSandboxes(program: Command, terminal: Terminal): void {
  const command = program.command("sandboxes");
  timesCommand(command, "list sandboxes in their present status").addOption(
    new WordsOption("--status <statuses>", "only these, separated by commas", statuses),
  );
  const withServer = "only sandboxes with a server";
  placeOptions(command)
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--benchmark <names>", "only these benchmarks, separated by commas")
    .option("--name <name>", `${withServer} of this name; can be repeated`, collected)
    .option("--tag <tags>", `${withServer} with one of these tags, separated by commas`);
  pageOptions(command).action(
    lists(terminal, {
      operation: listSandboxes,
      request: ({ name, ...fields }) => ({ ...fields, server_name: name }),
      items: ({ sandboxes }) => sandboxes,
      nothing: "There are no such sandboxes.",
      columns,
      more: "--cursor",
    }),
  );
}

const columns: Columns<SandboxView> = {
  status: presentStatusCell,
  since: ({ since }, { timeText }) => timeText(since),
  region: "region",
  key: "key",
  sandbox: "sandbox_id",
  servers: serversText,
  created: ({ created_at: at }, { timeText }) => timeText(at),
  benchmark: "benchmark",
};

/** Such as "5" and "5 (1 error, 2 unknown)". */
function serversText({ servers }: SandboxView): string {
  const amiss = (["error", "unknown"] as const).filter((status) => servers[status] > 0);
  const all = countByStatus(servers);
  if (amiss.length === 0) return `${all}`;
  return `${all} (${amiss.map((status) => `${servers[status]} ${status}`).join(", ")})`;
}
