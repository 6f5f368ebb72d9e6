import type { Command } from "commander";
import { listProbes } from "../api/operations/probes.ts";
import type { ProbeStateView } from "../api/operations/probes.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { apiOptions, atLeast } from "./options.ts";
import { show } from "./output.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

interface ProbesOptions extends ApiOptions {
  readonly probe?: string;
  readonly limit?: number;
}

export function addProbes(program: Command, terminal: Terminal): void {
  apiOptions(program.command("probes"))
    .description("show the last run of each probe; with --json earlier runs too")
    .option("--probe <names>", "only these probes, separated by commas")
    .option("--limit <n>", "the number of runs of each probe", atLeast(1))
    .action(async (options: ProbesOptions) => {
      const { probe, limit } = options;
      const view = await callOperation(options, terminal, listProbes, { probe, limit });
      show(view, options, terminal, ({ probes }) =>
        probes.length === 0
          ? "There are no such probes.\n"
          : renderTable(header, probes.map(cellsOf)),
      );
    });
}

const header = ["probe", "region", "key", "operation", "state", "last run", "took", "what failed"];

function cellsOf(probe: ProbeStateView): readonly string[] {
  const { state, failures_in_a_row: failures, results } = probe;
  const [last] = results;
  const seconds = last?.duration_seconds ?? null;
  return [
    probe.probe,
    probe.region,
    probe.key,
    probe.operation,
    state === "not_run" ? "not run yet" : failures > 1 ? `${state} (${failures} runs)` : state,
    last?.at ?? "",
    seconds === null ? "" : `${seconds}s`,
    [last?.reason, last?.detail].filter((part) => typeof part === "string").join(": "),
  ];
}
