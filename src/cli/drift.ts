import type { Command } from "commander";
import { listDrift } from "../api/operations/drift.ts";
import { timesCommand } from "./api-command.ts";
import { lists } from "./list-history.ts";
import type { Terminal } from "./terminal.ts";

export function addDrift(program: Command, terminal: Terminal): void {
  const description = "list how the service's responses deviate from its interface, latest first";
  timesCommand(program.command("drift"), description).action(
    lists(terminal, {
      operation: listDrift,
      request: () => ({}),
      items: ({ drift }) => drift,
      nothing: "No response deviated from the interface.",
      columns: {
        operation: "operation",
        field: "field",
        problem: "problem",
        regions: ({ regions }) => regions.join(" "),
        count: "count",
        first: ({ first_seen_at: at }, { timeText }) => timeText(at),
        last: ({ last_seen_at: at }, { timeText }) => timeText(at),
        example: "example",
      },
    }),
  );
}
