import type { DriftView } from "../interventions/drift-desk.ts";
import { runQuery, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** How the service's answers differ from its interface. */
export async function drift(options: DeskOptions, terminal: Terminal): Promise<void> {
  const view = await runQuery(options, terminal, (desk) => desk.drift({}));
  show(view, options, terminal, ({ drift: found }) =>
    found.length === 0 ? "All answers were as the interface has them.\n" : toTable(found),
  );
}

function toTable(found: DriftView["drift"]): string {
  return renderTable(
    ["operation", "field", "problem", "regions", "count", "first seen", "last seen", "example"],
    found.map((each) => [
      each.operation,
      each.field,
      each.problem,
      each.regions.join(" "),
      String(each.count),
      each.first_seen_at,
      each.last_seen_at,
      each.example ?? "",
    ]),
  );
}
