import type { Command } from "commander";
import { listDrift } from "../api/operations/drift.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { listText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addDrift(program: Command, terminal: Terminal): void {
  const description = "list how the service's responses deviate from its interface, latest first";
  apiCommand(program.command("drift"), description).action(
    callsOperation(terminal, {
      operation: listDrift,
      request: () => ({}),
      text: ({ drift }) =>
        listText(drift, "No response deviated from the interface.", null, {
          operation: "operation",
          field: "field",
          problem: "problem",
          regions: ({ regions }) => regions.join(" "),
          count: "count",
          "first seen": "first_seen_at",
          "last seen": "last_seen_at",
          example: "example",
        }),
    }),
  );
}
