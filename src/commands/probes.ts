import type { ProbesView } from "../interventions/probe-desk.ts";
import { runQuery, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface ProbesOptions extends DeskOptions {
  readonly probe?: string;
  readonly limit?: number;
}

/** How the probes do. */
export async function probes(options: ProbesOptions, terminal: Terminal): Promise<void> {
  const { probe, limit } = options;
  const query = { ...(probe && { probe }), ...(limit && { limit }) };
  const view = await runQuery(options, terminal, (desk) => desk.probes(query));
  show(view, options, terminal, ({ probes: found }) =>
    found.length === 0 ? "There are no such probes.\n" : toTable(found),
  );
}

function toTable(found: ProbesView["probes"]): string {
  return renderTable(
    ["probe", "region", "key", "operation", "state", "last run", "took", "what failed"],
    found.map((probe) => {
      const [last] = probe.results;
      return [
        probe.probe,
        probe.region,
        probe.key,
        probe.operation,
        stateText(probe),
        last?.at ?? "",
        took(last?.duration_seconds ?? null),
        last ? failureText(last) : "",
      ];
    }),
  );
}

function stateText({ state, failures_in_a_row: failures }: ProbesView["probes"][number]): string {
  if (state === "not_run") return "not run yet";
  return failures > 1 ? `${state} (${failures} runs)` : state;
}

function took(seconds: number | null): string {
  return seconds === null ? "" : `${seconds}s`;
}

function failureText({
  reason,
  detail,
}: {
  readonly reason: string | null;
  readonly detail: string | null;
}): string {
  if (reason === null) return "";
  return detail === null ? reason : `${reason}: ${detail}`;
}
