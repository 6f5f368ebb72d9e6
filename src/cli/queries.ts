import type { Command } from "commander";
import { listDrift } from "../api/operations/drift.ts";
import { explainServer } from "../api/operations/explain.ts";
import type { ExplanationView } from "../api/operations/explain.ts";
import { listProbes } from "../api/operations/probes.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { wholeNumber } from "./options.ts";
import { linesText, listText } from "./output.ts";
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

export function addProbes(program: Command, terminal: Terminal): void {
  apiCommand(program.command("probes"), "show the last run of each probe; --json has earlier ones")
    .option("--probe <names>", "only these probes, separated by commas")
    .option("--limit <n>", "the number of runs of each probe", wholeNumber(1))
    .action(
      callsOperation(terminal, {
        operation: listProbes,
        request: (fields) => fields,
        text: ({ probes }) =>
          listText(probes, "There are no such probes.", null, {
            probe: "probe",
            region: "region",
            key: "key",
            operation: "operation",
            state: ({ state }) => (state === "not_run" ? "not run yet" : state),
            failures: "failures_in_a_row",
            "last run": ({ results: [last] }) => last?.at,
            seconds: ({ results: [last] }) => last?.duration_seconds,
            "what failed": ({ results: [last] }) =>
              [last?.reason, last?.detail].filter(Boolean).join(": "),
          }),
      }),
    );
}

export function addExplain(program: Command, terminal: Terminal): void {
  const description =
    "show everything that happened to a server and all notifications about it, oldest first";
  apiCommand(program.command("explain"), description)
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
  const lines = [
    `server ${view.server_id}${view.server_name === null ? "" : ` (${view.server_name})`}`,
    ...view.listed.map(
      ({ region, key, sandbox_id, status, since }) =>
        `  ${status} since ${since} in ${region}/${key}, sandbox ${sandbox_id}`,
    ),
    ...(view.listed.length === 0 ? ["  not listed now"] : []),
    ...(view.truncated ? ["  older events are not shown"] : []),
    "",
  ];
  const nothing = "Nothing is stored about it.";
  const columns = { at: "at", what: "event", "": "text" } as const;
  return linesText(lines) + listText(view.events, nothing, null, columns);
}
