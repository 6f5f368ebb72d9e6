import type { Command } from "commander";
import { listProbes } from "../api/operations/probes.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { wholeNumber } from "./options.ts";
import { listText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addProbes(program: Command, terminal: Terminal): void {
  apiCommand(program, "probes", "show the last run of each probe; with --json earlier runs too")
    .option("--probe <names>", "only these probes, separated by commas")
    .option("--limit <n>", "the number of runs of each probe", wholeNumber(1))
    .action(
      callsOperation(terminal, {
        operation: listProbes,
        request: (fields) => fields,
        text: ({ probes }) =>
          listText(probes, "There are no such probes.", {
            probe: "probe",
            region: "region",
            key: "key",
            operation: "operation",
            state: ({ state, failures_in_a_row: failures }) => {
              if (state === "not_run") return "not run yet";
              return failures > 1 ? `${state} (${failures} runs)` : state;
            },
            "last run": ({ results: [last] }) => last?.at,
            took: ({ results: [last] }) => {
              const seconds = last?.duration_seconds ?? null;
              return seconds === null ? "" : `${seconds}s`;
            },
            "what failed": ({ results: [last] }) =>
              [last?.reason, last?.detail].filter(Boolean).join(": "),
          }),
      }),
    );
}
