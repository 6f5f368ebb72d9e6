import { localText } from "../../reports/zone.ts";
import type { SeriesView } from "../../api/operations/occupancy-series.ts";
import { reportedKinds } from "../../reports/report-fields.ts";
import { readable } from "../../fleet/text.ts";
import { html, type Html } from "../html.ts";
import { areaChart, summaryOf, valuesTable } from "./occupancy-chart.ts";
import type { Choices } from "./occupancy-data.ts";
import {
  addressQuery,
  everything,
  queryText,
  quoted,
  ranges,
  type OccupancyQuery,
} from "./occupancy-query.ts";

/** What the card of the chart shows. */
export interface ChartView extends Choices {
  readonly query: OccupancyQuery;
  readonly series: SeriesView;
  /** What is wrong with the address. */
  readonly faults: readonly string[];
  readonly tz: string;
}

/** Further ones are chosen from a list. */
const mostChips = 8;
const longestLabel = 40;

/**
 * The chart with what chooses its range and its servers.
 *
 * @param page where it is: the path of the page below the overview, empty on the overview itself
 */
export function chartCard(view: ChartView, page: "" | "occupancy"): Html {
  const { query, series, faults, regions, tz } = view;
  const here = page === "" ? "./" : page;
  const link = (changed: Partial<OccupancyQuery>, text: string, isOn: boolean): Html => {
    const href = here + queryText({ ...query, ...changed });
    const current = isOn ? html` aria-current="true"` : "";
    return html`<a href="${href}" data-soft${current}>${text}</a>`;
  };
  const isFree = isFreeRange(query);
  const { of, region, key } = query;
  const range = isFree ? { from: series.from, to: series.to } : { from: query.from };
  const report = addressQuery({ ...range, of: of === everything.of ? null : of, region, key, tz });
  const chips =
    regions.length < 2 || regions.length > mostChips
      ? ""
      : html`<span class="chips" role="group" aria-label="Regions">
          ${link({ region: [] }, "all regions", query.region.length === 0)}
          ${regions.map((name) =>
            link({ region: [name] }, name, query.region.length === 1 && query.region[0] === name),
          )}
        </span>`;
  return html`<section class="card" id="occupancy" data-live>
    <div class="head">
      <h2>${titleOf(query, page)}</h2>
      ${chips}
      <span class="segments" role="group" aria-label="Range">
        ${Object.entries(ranges).map(([text, from]) =>
          link({ from, to: null }, text, !isFree && query.from === from),
        )}
        ${isFree ? link({}, "own range", true) : ""}
      </span>
    </div>
    ${[...faults, ...notesOf(view)].map((text) => html`<p class="remark" role="status">${text}</p>`)}
    ${areaChart(series, tz)}
    <div class="below">
      ${filters(view, here)} ${isFree ? link({ from: "24h", to: null }, "Back to 24 h", false) : ""}
      ${page === "" ? html`<a href="occupancy${queryText(query)}">Values and patterns</a>` : ""}
      <a href="report${report}">Report of this range</a>
    </div>
    ${
      page === ""
        ? ""
        : html`<details id="occupancy-values">
            <summary>Values as a table</summary>
            <p class="quiet">${summaryOf(series)}</p>
            ${valuesTable(series)}
          </details>`
    }
  </section>`;
}

function titleOf({ of }: OccupancyQuery, page: "" | "occupancy"): string {
  if (page === "") return of === "servers" ? "Occupancy" : "Occupancy of sandboxes";
  return of === "servers" ? "Servers by status" : "Sandboxes by status";
}

function isFreeRange({ from, to }: OccupancyQuery): boolean {
  return to !== null || !Object.values<string>(ranges).includes(from);
}

function notesOf({ query, series, regions, keys }: ChartView): readonly string[] {
  const { region, key, serverName } = query;
  const unknown = [
    ...region.filter((name) => !regions.includes(name)).map((name) => `region ${quoted(name)}`),
    ...key.filter((name) => !keys.includes(name)).map((name) => `key ${quoted(name)}`),
  ];
  const isEmpty = [series.occupied, series.idle, series.error, series.unknown].every((counts) =>
    counts.every((count) => count === 0),
  );
  return [
    ...series.notes,
    ...unknown.map((what) => `No target of the ${what} is watched.`),
    ...(isEmpty && serverName.length > 0 && series.unobserved.every((count) => count === 0)
      ? [`No server of the name ${serverName.map(quoted).join(" or ")} was recorded in this range.`]
      : []),
  ];
}

/** Works as a form without a script. */
function filters({ query, series, regions, keys, names, tz }: ChartView, here: string): Html {
  const { of, from, region, key, serverName } = query;
  const isFree = isFreeRange(query);
  const isActive = isFree || of !== everything.of || [...region, ...key, ...serverName].length > 0;
  const moment = (name: string, label: string, iso: string | null): Html => {
    const value = iso === null ? "" : localText(iso, tz).slice(0, 16);
    return html`<label
      >${label} <input type="datetime-local" name="${name}" value="${value}"
    /></label>`;
  };
  const chosen = (name: string, label: string, all: readonly string[], now: readonly string[]) =>
    html`<label
      >${label}
      <select name="${name}">
        <option value="">all</option>
        ${[...new Set([...now, ...all])].map(
          (each) =>
            html`<option value="${each}" ${now.includes(each) ? html`selected` : ""}>
              ${readable(each, longestLabel)}
            </option>`,
        )}
      </select></label
    >`;
  return html`<details id="occupancy-filters" ${isActive ? html`open` : ""}>
    <summary>Range and filters</summary>
    <form action="${here}" method="get" data-soft>
      <label
        >Count
        <select name="of">
          ${reportedKinds.map((each) => html`<option ${each === of ? html`selected` : ""}>${each}</option>`)}
        </select></label
      >
      ${chosen("region", "Region", regions, region)} ${chosen("key", "Key", keys, key)}
      ${chosen("server_name", "Server name", names, serverName)}
      <input type="hidden" name="from" value="${from}" />
      ${moment("from", "From", isFree ? series.from : null)}
      ${moment("to", "To", isFree ? series.to : null)}
      <input type="hidden" name="tz" value="${tz}" />
      <button>Show</button>
      <a href="${here}" data-soft>Show everything</a>
    </form>
  </details>`;
}

/** Where what a card shows is not there. */
export function emptyCard(id: string, title: string, text: string): Html {
  return html`<section class="card" id="${id}" data-live>
    <h2>${title}</h2>
    <p class="quiet">${text}</p>
  </section>`;
}
