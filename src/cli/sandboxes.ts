import type { Command } from "commander";
import { listSandboxes, type SandboxView } from "../api/operations/sandboxes.ts";
import { statuses } from "../fleet/model.ts";
import { countByStatus } from "../fleet/tallies.ts";
import { callsOperation, timesCommand } from "./api-command.ts";
import { presentStatusCell } from "./cells.ts";
import { labelHelp, collected, wholeNumber, WordsOption } from "./options.ts";
import { listText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addSandboxes(program: Command, terminal: Terminal): void {
  timesCommand(program.command("sandboxes"), "list sandboxes in their present status")
    .addOption(new WordsOption("--status <statuses>", "only these, separated by commas", statuses))
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--label <labels>", labelHelp)
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--benchmark <names>", "only these benchmarks, separated by commas")
    .option(
      "--name <name>",
      "only sandboxes with a server of this name; can be repeated",
      collected,
    )
    .option(
      "--tag <tags>",
      "only sandboxes with a server with one of these tags, separated by commas",
    )
    .option("--limit <n>", "the largest number of entries", wholeNumber(1))
    .option("--cursor <cursor>", "continue after this cursor, which the previous page prints")
    .action(
      callsOperation(terminal, {
        operation: listSandboxes,
        request: ({ name, ...fields }) => ({ ...fields, server_name: name }),
        text: ({ sandboxes, next }, look) =>
          listText(
            sandboxes,
            "There are no such sandboxes.",
            next,
            {
              status: presentStatusCell,
              since: ({ since }, { timeText }) => timeText(since),
              region: "region",
              key: "key",
              sandbox: "sandbox_id",
              servers: serversText,
              created: ({ created_at: at }, { timeText }) => timeText(at),
              benchmark: "benchmark",
            },
            look,
            "--cursor",
          ),
      }),
    );
}

/** Such as "5" and "5 (1 error, 2 unknown)". */
function serversText({ servers }: SandboxView): string {
  const amiss = (["error", "unknown"] as const).filter((status) => servers[status] > 0);
  const all = countByStatus(servers);
  if (amiss.length === 0) return `${all}`;
  return `${all} (${amiss.map((status) => `${servers[status]} ${status}`).join(", ")})`;
}
