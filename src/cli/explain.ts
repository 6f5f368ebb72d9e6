import type { Command } from "commander";
import { explainServer } from "../api/operations/explain.ts";
import { explainSandbox } from "../api/operations/explain-sandbox.ts";
import type { ExplanationView } from "../api/operations/explain.ts";
import type { SandboxExplanation } from "../api/operations/explain-sandbox.ts";
import { counted } from "../fleet/text.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { callsOperation, listCommand } from "./api-command.ts";
import { statusCell } from "./cells.ts";
import type { Look } from "./look.ts";
import { linesText, listText } from "./output.ts";
import { renderTable, type Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addExplain(program: Command, terminal: Terminal): void {
  const description =
    "show everything that happened to a server or a sandbox, and all notifications about it, oldest first";
  const asServer = callsOperation(terminal, {
    operation: explainServer,
    request: (fields, server) => ({ ...fields, server }),
    text: explanationText,
  });
  const asSandbox = callsOperation(terminal, {
    operation: explainSandbox,
    request: (fields, sandbox) => ({ ...fields, sandbox }),
    text: sandboxText,
  });
  listCommand(program.command("explain"), description)
    .argument(
      "<id>",
      "the id of the server, a prefix of it, or its name; or the id of a sandbox, or a prefix of it",
    )
    .action(async function explain(this: Command) {
      try {
        await asServer.call(this);
      } catch (error) {
        if (!isUnknown(error)) throw error;
        await asSandbox.call(this).catch((other: unknown) => {
          throw isUnknown(other)
            ? new RefusedError("not_found", nothingKnown(this.args[0]))
            : other;
        });
      }
    });
}

function isUnknown(error: unknown): boolean {
  return error instanceof RefusedError && error.kind === "not_found";
}

function nothingKnown(text: string | undefined): string {
  return `No known server or sandbox matches ${JSON.stringify(text)}: give an id, a prefix of one, or a server's name.`;
}

function explanationText(view: ExplanationView, look: Look): string {
  const lines = [
    `server ${view.server_id}${view.server_name === null ? "" : ` (${view.server_name})`}`,
    ...view.listed.map(
      ({ region, key, sandbox_id, status, since }) =>
        `  ${status} ${look.sinceText(since)} in ${region}/${key}, sandbox ${sandbox_id}`,
    ),
    ...(view.listed.length === 0 ? ["  not listed now"] : []),
    "",
  ];
  return linesText(lines) + eventsText(view, look);
}

function eventsText({ events, next }: Pick<ExplanationView, "events" | "next">, look: Look) {
  const columns: Columns<(typeof events)[number]> = {
    at: ({ at }, { timeText }) => timeText(at),
    what: "event",
    "": "text",
  };
  return listText(events, "Nothing is stored about it.", next, columns, look);
}

function sandboxText(view: SandboxExplanation, look: Look): string {
  const listed = view.listed.flatMap((sandbox) => {
    const { region, key, status, since, benchmark } = sandbox;
    const created =
      sandbox.created_at === null ? "" : `, created ${look.timeText(sandbox.created_at)}`;
    const ofBenchmark = benchmark === null ? "" : `, benchmark ${benchmark}`;
    return [
      `  ${status} ${look.sinceText(since)} in ${region}/${key}, ${sourceText(sandbox.stated_status)}`,
      `  ${counted(sandbox.server_count, "server")}${ofBenchmark}${created}`,
    ];
  });
  const servers = view.listed.flatMap((sandbox) => sandbox.servers);
  const columns: Columns<(typeof servers)[number]> = {
    status: ({ status }) => statusCell(status),
    since: ({ since }, { timeText }) => timeText(since),
    name: "server_name",
    server: "server_id",
    "stated by": ({ states_status: isOwn }) => (isOwn ? "server" : "sandbox"),
  };
  return [
    linesText([
      `sandbox ${view.sandbox_id}`,
      ...(listed.length > 0 ? listed : ["  not listed now"]),
      "",
    ]),
    ...(servers.length > 0 ? [renderTable(servers, columns, look), "\n"] : []),
    eventsText(view, look),
  ].join("");
}

function sourceText(stated: string | null): string {
  if (stated === null) return "as its servers state";
  return stated === "unknown" ? "as it states no known status now" : "as it states";
}
