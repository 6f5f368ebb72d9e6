import type { Command } from "commander";
import { listProbes } from "../api/operations/probes.ts";
import type { ProbeStateWord } from "../alerts/probe.ts";
import { targetName } from "../fleet/model.ts";
import { callsOperation, timesCommand } from "./api-command.ts";
import { wholeNumber } from "./options.ts";
import { listText } from "./output.ts";
import type { Cell } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addProbes(program: Command, terminal: Terminal): void {
  timesCommand(
    program.command("probes"),
    "show the last run of each probe; --json has earlier ones",
  )
    .option("--probe <names>", "only these probes, separated by commas")
    .option("--limit <n>", "the number of runs of each probe", wholeNumber(1))
    .action(
      callsOperation(terminal, {
        operation: listProbes,
        request: (fields) => fields,
        text: ({ probes }, look) =>
          listText(
            probes,
            "There are no such probes.",
            null,
            {
              probe: "probe",
              target: targetName,
              state: ({ state }) => probeStates[state],
              failures: "failures_in_a_row",
              "last run": ({ results: [last] }, { timeText }) => timeText(last?.at),
              seconds: ({ results: [last] }) => last?.duration_seconds,
              "what failed": ({ results: [last] }) => last?.detail ?? last?.reason,
            },
            look,
          ),
      }),
    );
}

const probeStates: Readonly<Record<ProbeStateWord, Cell>> = {
  not_run: "not run yet",
  ok: "ok",
  failing: { text: "failing", color: "red" },
};
