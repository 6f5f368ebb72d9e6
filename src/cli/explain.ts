import type { Command } from "commander";
import { explainServer } from "../api/operations/explain.ts";
import type { ExplanationView } from "../api/operations/explain.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { listText } from "./output.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addExplain(program: Command, terminal: Terminal): void {
  const description =
    "show everything that happened to a server and all notifications about it, oldest first";
  apiCommand(program, "explain", description)
    .argument("<server>", "the id of the server, a prefix of it, or its name")
    .action(
      callsOperation(terminal, {
        operation: explainServer,
        request: (_fields, server) => ({ server }),
        text: explanationText,
      }),
    );
}

function explanationText(view: ExplanationView): string {
  const { server_id, server_name, listed, events, truncated } = view;
  const lines = [
    `server ${server_id}${server_name === null ? "" : ` (${server_name})`}`,
    ...listed.map(
      ({ region, key, sandbox_id, status, since }) =>
        `  ${status} since ${since} in ${region}/${key}, sandbox ${sandbox_id}`,
    ),
    ...(listed.length === 0 ? ["  not listed now"] : []),
    ...(truncated ? ["  older events are not shown"] : []),
    "",
    "",
  ];
  const history = listText(events, "Nothing is stored about it.", {
    at: "at",
    what: "event",
    "": "text",
  });
  return lines.map(printable).join("\n") + history;
}
