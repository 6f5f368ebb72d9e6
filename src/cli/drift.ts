import type { Command } from "commander";
import { listDrift } from "../api/operations/drift.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { apiOptions } from "./options.ts";
import { show } from "./output.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addDrift(program: Command, terminal: Terminal): void {
  apiOptions(program.command("drift"))
    .description("list how the service's responses deviate from its interface, latest first")
    .action(async (options: ApiOptions) => {
      const view = await callOperation(options, terminal, listDrift, {});
      show(view, options, terminal, ({ drift }) => {
        if (drift.length === 0) return "No response deviated from the interface.\n";
        const rows = drift.map((each) => [
          each.operation,
          each.field,
          each.problem,
          each.regions.join(" "),
          String(each.count),
          each.first_seen_at,
          each.last_seen_at,
          each.example ?? "",
        ]);
        return renderTable(header, rows);
      });
    });
}

const header = [
  "operation",
  "field",
  "problem",
  "regions",
  "count",
  "first seen",
  "last seen",
  "example",
];
