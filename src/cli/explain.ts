import type { Command } from "commander";
import { explainServer } from "../api/operations/explain.ts";
import type { ExplanationView } from "../api/operations/explain.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { apiOptions } from "./options.ts";
import { show } from "./output.ts";
import { printable, renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addExplain(program: Command, terminal: Terminal): void {
  apiOptions(program.command("explain"))
    .description(
      "show everything that happened to a server and all notifications about it, oldest first",
    )
    .argument("<server>", "the id of the server, a prefix of it, or its name")
    .action(async (server: string, options: ApiOptions) => {
      const view = await callOperation(options, terminal, explainServer, { server });
      show(view, options, terminal, inWords);
    });
}

function inWords({ server_id, server_name, listed, events, truncated }: ExplanationView): string {
  const name = server_name === null ? "" : ` (${server_name})`;
  const places = listed.map(
    ({ region, key, sandbox_id, status, since }) =>
      `  ${status} since ${since} in ${region}/${key}, sandbox ${sandbox_id}`,
  );
  const lines = [
    `server ${server_id}${name}`,
    ...(places.length === 0 ? ["  not listed now"] : places),
    ...(truncated ? ["  older events are not shown"] : []),
  ];
  const head = lines.map((line) => `${printable(line)}\n`).join("");
  if (events.length === 0) return `${head}Nothing is stored about it.\n`;
  const rows = events.map(({ at, event, text }) => [at, event, text]);
  return `${head}\n${renderTable(["at", "what", ""], rows)}`;
}
