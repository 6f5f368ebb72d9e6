import type { Command } from "commander";
import { listProbes } from "../api/operations/probes.ts";
import type { ProbeStateWord } from "../alerts/probe.ts";
import { targetName } from "../fleet/model.ts";
import { timesCommand } from "./api-command.ts";
import { lists } from "./list-history.ts";
import { wholeNumber } from "./options.ts";
import type { Cell } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addProbes(program: Command, terminal: Terminal): void {
  const description = "show the last run of each probe; --json has earlier ones";
  timesCommand(program.command("probes"), description)
    .option("--probe <names>", "only these probes, separated by commas")
    .option("--limit <n>", "the number of runs of each probe", wholeNumber(1))
    .action(
      lists(terminal, {
        operation: listProbes,
        request: (fields) => fields,
        items: ({ probes }) => probes,
        nothing: "There are no such probes.",
        columns: {
          probe: "probe",
          target: (each) => targetName(each),
          state: ({ state }) => probeStates[state],
          failures: "failures_in_a_row",
          "last run": ({ results: [last] }, { timeText }) => timeText(last?.at),
          seconds: ({ results: [last] }) => last?.duration_seconds,
          "what failed": ({ results: [last] }) => last?.detail ?? last?.reason,
        },
      }),
    );
}

const probeStates: Readonly<Record<ProbeStateWord, Cell>> = {
  not_run: "not run yet",
  ok: "ok",
  failing: { text: "failing", color: "red" },
};
