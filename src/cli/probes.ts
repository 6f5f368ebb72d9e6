import type { Command } from "commander";
import { listProbes } from "../api/operations/probes.ts";
import { apiCommand, callsOperation } from "./api-command.ts";
import { wholeNumber } from "./options.ts";
import { listText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

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
