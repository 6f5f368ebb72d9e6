import { failureOf, type WatchedView } from "../../alerts/target-view.ts";
import { targetName } from "../../fleet/model.ts";
import { shownStatuses } from "../../fleet/fleet-search.ts";
import { ageOf, html, numberOf, table, type Column, type Html } from "../html.ts";
import { placeOf } from "./fleet-list.ts";
import { countAll, totalsOf, type FleetTotals, type Totals } from "./fleet-totals.ts";
import { statusBar } from "./status-bar.ts";

/** Further rows are only counted. */
const mostRows = 20;
const mostTotals = 100;

/** With more, regions and keys are shown, and targets only if they are down. */
const mostTargets = 24;

/** Which targets are up, and since when and why others are not. */
export function targetsCard(
  targets: readonly WatchedView[],
  { byRegion, byKey }: FleetTotals,
  nowMs: number,
): Html {
  const isShort = targets.length <= mostTargets;
  const failing = targets.filter(({ polled, up }) => polled && !up);
  const shown = isShort ? targets : failing.slice(0, mostRows);
  const more = isShort ? 0 : failing.length - shown.length;
  const lastPollMs = targets.reduce(
    (last, { state }) => Math.max(last, state.progress.lastPollAtMs ?? 0),
    0,
  );
  const totals = html`<details id="totals" ${isShort ? "" : html`open`}>
    <summary>Totals by region and key</summary>
    ${totalsTable("Region", byRegion)} ${totalsTable("Key", byKey)}
  </details>`;
  return html`<section class="card" id="targets" data-live aria-labelledby="targets-title">
    <h2 id="targets-title">Targets</h2>
    <p class="quiet aside">
      ${targets.filter(({ up, polled }) => polled && up).length} of ${targets.length}
      up${lastPollMs === 0 ? "" : html`, last poll ${ageOf(lastPollMs, nowMs)} ago`}
    </p>
    ${shown.length === 0 ? "" : table(shown.toSorted(compareTargets), targetColumns(nowMs))}
    ${more > 0 ? html`<p>and ${more} more down</p>` : ""} ${totals}
  </section>`;
}

const targetColumns = (nowMs: number): readonly Column<WatchedView>[] => [
  {
    head: "Target",
    cell: ({ target }) => placeOf(target),
    tone: "target",
  },
  {
    head: "State",
    cell: (view) => targetState(view, nowMs),
    tone: ({ polled, up }) => (polled ? (up ? "good" : "bad") : "quiet"),
  },
  { head: "Servers", cell: (view) => statusBar(totalsOf(view)), tone: "bars" },
  { head: "Total", isNumber: true, cell: (view) => numberOf(countAll(totalsOf(view))) },
];

function targetState(view: WatchedView, nowMs: number): Html {
  const { polled, up, withheld, state, detail } = view;
  if (!polled) {
    const { lastPollAtMs } = state.progress;
    return withheld && lastPollAtMs !== null
      ? html`not polled for ${ageOf(lastPollAtMs, nowMs)}`
      : html`not polled yet`;
  }
  if (up) return detail ? html`up, partial <small>${detail.text}</small>` : html`up`;
  const { failingSinceMs } = state.progress;
  if (failingSinceMs === null) return html`down <small>not stored, see the log</small>`;
  const why = failureOf(view) ?? "";
  return html`down ${ageOf(failingSinceMs, nowMs)}
    <small>${why}${withheld ? "" : ", last servers shown"}</small>`;
}

function totalsTable(head: string, byName: ReadonlyMap<string, Totals>): Html {
  const rows = [...byName].toSorted(
    ([, a], [, b]) => b.error + b.unobserved - a.error - a.unobserved,
  );
  return table(
    rows,
    [
      { head, cell: ([name]) => name },
      ...shownStatuses.map((status): Column<[string, Totals]> => ({
        head: status,
        isNumber: true,
        cell: ([, totals]) => numberOf(totals[status]),
        tone: ([, totals]) => (status === "error" && totals.error > 0 ? "bad" : ""),
      })),
    ],
    { most: mostTotals },
  );
}

/** Those that are down first. */
function compareTargets(a: WatchedView, b: WatchedView): number {
  return Number(a.up) - Number(b.up) || targetName(a.target).localeCompare(targetName(b.target));
}
