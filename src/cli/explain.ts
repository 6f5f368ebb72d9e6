import type { Command } from "commander";
import { explainServer } from "../api/operations/explain.ts";
import type { ExplanationView } from "../api/operations/explain.ts";
import { callsOperation, listCommand } from "./api-command.ts";
import type { Look } from "./look.ts";
import { linesText, listText } from "./output.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addExplain(program: Command, terminal: Terminal): void {
  const description =
    "show everything that happened to a server and all notifications about it, oldest first";
  listCommand(program.command("explain"), description)
    .argument("<server>", "the id of the server, a prefix of it, or its name")
    .action(
      callsOperation(terminal, {
        operation: explainServer,
        request: (fields, server) => ({ ...fields, server }),
        text: explanationText,
      }),
    );
}

function explanationText(view: ExplanationView, look: Look): string {
  const lines = [
    `server ${view.server_id}${view.server_name === null ? "" : ` (${view.server_name})`}`,
    ...view.listed.map(
      ({ region, key, sandbox_id, status, since }) =>
        `  ${status} since ${look.timeText(since)} in ${region}/${key}, sandbox ${sandbox_id}`,
    ),
    ...(view.listed.length === 0 ? ["  not listed now"] : []),
    "",
  ];
  const nothing = "Nothing is stored about it.";
  const columns: Columns<ExplanationView["events"][number]> = {
    at: ({ at }, { timeText }) => timeText(at),
    what: "event",
    "": "text",
  };
  return linesText(lines) + listText(view.events, nothing, view.next, columns, look);
}
