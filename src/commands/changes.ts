import { atDesk, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface ChangesOptions extends DeskOptions {
  readonly server?: string;
  readonly limit?: number;
}

/** What changed, latest first. */
export async function changes(options: ChangesOptions, terminal: Terminal): Promise<void> {
  const { server, limit } = options;
  const query = { ...(server && { server }), ...(limit && { limit }) };
  const view = await atDesk(options, terminal, (desk) => desk.changes(query));
  show(view, options, terminal, ({ changes: found }) => {
    if (found.length === 0) return "Nothing that was kept changed.\n";
    const rows = found.map((change) => [
      change.at,
      change.region,
      change.key,
      change.sandbox_id,
      change.server_id,
      change.server_name ?? "",
      change.from,
      change.to,
    ]);
    const header = ["at", "region", "key", "sandbox", "server", "name", "from", "to"];
    return renderTable(header, rows);
  });
}
