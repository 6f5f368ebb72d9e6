import type { ProbeView } from "../alerts/probe.ts";
import { probeState } from "../alerts/probe.ts";
import type { ProbeStateWord } from "../alerts/probe.ts";
import { html } from "./html.ts";
import type { Html } from "./html.ts";
import { moreThan, table, time } from "./table.ts";

/** A probe in a region with a key, as the status page shows it. Times are UTC milliseconds. */
export interface ProbeRow {
  readonly probe: string;
  readonly region: string;
  readonly key: string;
  readonly operation: string;
  readonly state: ProbeStateWord;
  /** Why its last run failed. */
  readonly failure: string | null;
  readonly lastRunAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
}

/** More than this are only counted, those that fail last. */
const mostProbes = 500;

/** Those that fail first. */
export function viewProbes(probes: readonly ProbeView[]): readonly ProbeRow[] {
  return probes
    .map(({ subject: { probe, region, key }, operation, progress }) => ({
      probe,
      region,
      key,
      operation,
      state: probeState(progress),
      failure: progress.last?.detail ?? progress.last?.reason ?? null,
      lastRunAtMs: progress.last?.atMs ?? null,
      lastSuccessAtMs: progress.lastSuccessAtMs,
    }))
    .toSorted((a, b) => Number(b.state === "failing") - Number(a.state === "failing"));
}

/** Nothing where there are no probes. */
export function probeSection(probes: readonly ProbeRow[]): Html {
  if (probes.length === 0) return html``;
  const rows = probes.slice(0, mostProbes).map(
    (probe) =>
      html`<tr>
        <td>${probe.probe}</td>
        <td>${probe.region}</td>
        <td>${probe.key}</td>
        <td>${probe.operation}</td>
        <td class="${toneOf[probe.state]}">${stateText(probe)}</td>
        <td>${probe.lastRunAtMs === null ? "never" : time(probe.lastRunAtMs)}</td>
        <td>${probe.lastSuccessAtMs === null ? "never" : time(probe.lastSuccessAtMs)}</td>
      </tr> `,
  );
  const heads = ["probe", "region", "key", "operation", "state", "last run", "last success"];
  return html`<h2>Probes</h2>
    ${table(heads, rows)}${moreThan(rows, probes)}`;
}

const toneOf: Readonly<Record<ProbeStateWord, string>> = {
  ok: "good",
  failing: "bad",
  not_run: "quiet",
};

function stateText({ state, failure }: ProbeRow): string {
  if (state === "not_run") return "not run yet";
  return state === "failing" && failure !== null ? `failing: ${failure}` : state;
}
