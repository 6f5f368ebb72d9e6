import type { ExplanationView } from "../interventions/views.ts";
import { runQuery, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { printable, renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** All that happened to a server, and who was told what, in one timeline. */
export async function explain(
  server: string,
  options: DeskOptions,
  terminal: Terminal,
): Promise<void> {
  const view = await runQuery(options, terminal, (desk) => desk.explain({ server }));
  show(view, options, terminal, inWords);
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
    ...(truncated ? ["  there is more: only the latest is shown"] : []),
  ];
  const head = lines.map((line) => `${printable(line)}\n`).join("");
  if (events.length === 0) return `${head}Nothing is kept of it.\n`;
  const rows = events.map(({ at, event, text }) => [at, event, text]);
  return `${head}\n${renderTable(["at", "what", ""], rows)}`;
}
