import type { SeriesView } from "../../api/operations/occupancy-series.ts";
import { shownStatuses, type ShownStatus } from "../../fleet/fleet-search.ts";
import { openZone, toLocal, utc, type Zone } from "../../reports/zone.ts";
import { html, numberOf, table, timeOf, type Html } from "../html.ts";
import { fillOf, swatch } from "./status-bar.ts";

/** Shapes fill their box at any width, so texts are beside them. */
const width = 1_000;
const height = 100;

/** Areas on top of each other. `browser/occupancy.ts` replaces them by a chart that answers. */
export function areaChart(series: SeriesView, tz: string): Html {
  const zone = openZone(tz) ?? utc;
  const [fromMs, toMs] = [Date.parse(series.from), Date.parse(series.to)];
  const starts = series.start.map((time) => Date.parse(time));
  const most = niceMost(series);
  const edges = starts.map((atMs) => ((atMs - fromMs) / (toMs - fromMs)) * width);
  let below: readonly number[] = starts.map(() => 0);
  const areas = shownStatuses.map((status) => {
    const above = series[status].map((count, at) => count + (below[at] ?? 0));
    const path = areaPath(edges, below, above, most);
    below = above;
    return path === "" ? "" : html`<path d="${path}" ${fillOf(status)} />`;
  });
  const data = { to: toMs / 1_000, start: starts.map((ms) => ms / 1_000), ...columnsOf(series) };
  const lines = [0.25, 0.5, 0.75].map(
    (share) =>
      html`<line
        class="grid"
        x1="0"
        x2="${width}"
        y1="${share * height}"
        y2="${share * height}"
      />`,
  );
  return html`<div class="chart">
      <div id="occupancy-plot">
        <div class="plot">
          <div class="y">
            <span>${numberOf(most)}</span><span>${numberOf(most / 2)}</span><span>0</span>
          </div>
          <svg
            viewBox="0 0 ${width} ${height}"
            preserveAspectRatio="none"
            role="img"
            aria-label="${summaryOf(series)}"
          >
            ${areas.map((area) => html`${area}`)} ${lines}
          </svg>
          <div class="x">
            ${axisTexts(fromMs, toMs, zone).map((text) => html`<span>${text}</span>`)}
          </div>
        </div>
      </div>
      <div id="occupancy-data" data-tz="${tz}" data-series="${JSON.stringify(data)}" hidden></div>
    </div>
    <p class="swatches">
      ${shownStatuses.map((status) => html`<span>${swatch(status)} ${status}</span> `)}
    </p>`;
}

function columnsOf(series: SeriesView): Record<ShownStatus, readonly number[]> {
  const { occupied, idle, error, unknown, unobserved } = series;
  return { occupied, idle, error, unknown, unobserved };
}

/** A value holds for its whole cell, so areas have steps. */
function areaPath(
  edges: readonly number[],
  below: readonly number[],
  above: readonly number[],
  most: number,
): string {
  if (above.every((count, at) => count === below[at])) return "";
  const y = (count: number): string => decimal(height - (count / most) * height);
  const along = (counts: readonly number[]): readonly string[] =>
    counts.map(
      (count, at) => `${decimal(edges[at] ?? 0)} ${y(count)}H${decimal(edges[at + 1] ?? width)}`,
    );
  const back = below.map((count, at) => {
    return `${decimal(edges[at + 1] ?? width)} ${y(count)}H${decimal(edges[at] ?? 0)}`;
  });
  return `M${along(above).join("L")}L${back.toReversed().join("L")}Z`;
}

function decimal(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** The end of the axis: twice a number of one digit, times a power of ten. */
function niceMost(series: SeriesView): number {
  const sums = series.start.map((_, at) =>
    shownStatuses.reduce((sum, status) => sum + (series[status][at] ?? 0), 0),
  );
  const most = Math.max(1, ...sums) / 2;
  const unit = 10 ** Math.floor(Math.log10(most));
  const half = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * unit >= most) ?? 10;
  return half * unit * 2;
}

const labels = 4;

function axisTexts(fromMs: number, toMs: number, zone: Zone): readonly string[] {
  const isShort = toMs - fromMs <= 48 * 3_600_000;
  return Array.from({ length: labels + 1 }, (_, at) => {
    const local = new Date(toLocal(zone, fromMs + ((toMs - fromMs) * at) / labels)).toISOString();
    return isShort ? local.slice(11, 16) : local.slice(5, 10);
  });
}

/** The chart in words. */
export function summaryOf(series: SeriesView): string {
  if (series.start.length === 0) return "There is nothing to show.";
  const seconds = series.seconds.reduce((sum, each) => sum + each, 0);
  const parts = shownStatuses.map((status) => {
    const sum = series[status].reduce((all, each, at) => all + each * (series.seconds[at] ?? 0), 0);
    return `${countText(sum / seconds)} ${status}`;
  });
  return `On average: ${parts.join(", ")}`;
}

/** With at most two decimals. */
function countText(count: number): string {
  return String(Math.round(count * 100) / 100);
}

/** Every value, latest first. */
export function valuesTable(series: SeriesView): Html {
  const rows = series.start.map((_, at) => at).toReversed();
  return table(rows, [
    { head: "from", cell: (at) => timeOf(Date.parse(series.start[at] ?? "")) },
    ...shownStatuses.map((status) => ({
      head: status,
      isNumber: true,
      cell: (at: number) => numberOf(Math.round((series[status][at] ?? 0) * 100) / 100),
    })),
  ]);
}
