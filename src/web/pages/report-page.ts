import type { RowView } from "../../api/operations/occupancy.ts";
import type { OutlookView } from "../../api/operations/outlook.ts";
import { reportFields, type ReportField } from "../../reports/report-fields.ts";
import { localText } from "../../reports/zone.ts";
import { longestName, readable } from "../../fleet/readable-text.ts";
import { html, type Html } from "../html.ts";
import { dailyChart, headroomBar, heatmap, hourOf, swatch } from "./report-charts.ts";
import type { PageReport } from "./read-report.ts";
import { averageText, countText, durationText, neededText } from "../../reports/quantities.ts";
import { forecastDateText, headroomText, peakText, shareText } from "../../reports/quantities.ts";
import { riseText, runsOutText, dwellBoundsText } from "../../reports/quantities.ts";
import { dwellOf, dwellText } from "../../reports/quantities.ts";

const mostNames = 30;

/** One file, which needs nothing else: no script, no font, no image. */
export function renderReport(page: PageReport): string {
  const { report, hasMore, total, days, hours, names, outlook } = page;
  const { from, to, tz, notes } = report;
  const [begin, end] = [from, to].map((time) => minuteText(time, tz));
  const range = `${begin ?? ""} to ${end ?? ""}`;
  const body = html`<header>
      <h1>Occupancy of ${outlook.of}</h1>
      <p class="quiet">${range}, ${tz}. Shares of a status are of observed time.</p>
    </header>
    <p class="answer">${outlook.answer}</p>
    ${notes.map((note) => html`<p class="note">${note}</p>`)}
    ${total ? tiles(total, outlook) : html`<p>There is nothing to report.</p>`}
    ${section("When do we run out?", outlook.pools.length > 0 ? runOut(outlook) : null)}
    ${section("Occupied share by day", days.length > 0 ? dailyChart(days) : null)}
    ${section(`Occupied share by hour and weekday (${tz})`, hours.length > 0 ? heatmap(hours.map(hourOf)) : null)}
    ${section(`Headroom by ${nameTitle(outlook.of)}`, names.length > 0 ? headroom(page) : null)}
    ${section(`By ${report.by.join(", ").replaceAll("_", " ") || "nothing: one row"}`, report.rows.length > 0 ? rowsTable(page) : null)}
    ${hasMore ? html`<p class="quiet">and more rows: the format csv has all of them</p>` : ""}`;
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="content-security-policy" content="${policy}" />
        <meta name="color-scheme" content="light dark" />
        <title>Occupancy of ${outlook.of}, ${range}</title>
        <style>
          ${{ markup: style }}
        </style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `;
  return document.markup.replaceAll(/\n\s*\n/g, "\n");
}

function minuteText(time: string, tz: string): string {
  return localText(time, tz)
    .replace("T", " ")
    .replace(/( \d\d:\d\d):[\d.]+/, "$1");
}

function section(title: string, content: Html | null): Html {
  return content === null
    ? html``
    : html`<section>
        <h2>${title}</h2>
        ${content}
      </section>`;
}

function tiles(total: RowView, { all, of }: OutlookView): Html {
  const shown: readonly (readonly [string, string, string])[] = [
    [
      "occupied",
      shareText(total.occupied_share),
      `${averageText(total.occupied_average)} ${of} on average`,
    ],
    ["peak occupied", peakText(total, true), `of ${countText(total.servers_peak)} ${of}`],
    ["headroom", headroomText(total, true), `${of} free at the peak`],
    ["unobserved", shareText(total.unobserved_share), `coverage ${shareText(total.coverage)}`],
    ["in error", shareText(total.error_share), `${countText(total.incidents)} incidents`],
    [`${shareText(all.threshold)} on average`, forecastDateText(all), trendText(all)],
  ];
  return html`<dl class="tiles">
    ${shown.map(
      ([what, value, more]) =>
        html`<div>
          <dt>${what}</dt>
          <dd>${value.replaceAll("-", "\u2011")}</dd>
          <dd class="more">${more}</dd>
        </div>`,
    )}
  </dl>`;
}

function trendText({ level, rise_per_week: rise }: OutlookView["all"]): string {
  if (level === null) return "of all";
  const last = `${shareText(level)} in the last week`;
  return rise === null ? last : `${last}, ${riseText(rise)} percentage points a week`;
}

const mostPools = 30;
const mostAnswers = 3;

type Pool = OutlookView["pools"][number];

function poolText({ region, key, server_name: serverName, benchmark, tag }: Pool): string {
  const parts = [region, key, serverName, benchmark, tag];
  return readable(parts.filter((part) => part !== undefined).join("/"), longestName);
}

/** The most urgent pools first. */
function runOut({ of, pools, further }: OutlookView): Html {
  const shown = pools.slice(0, mostPools);
  const more = pools.length - shown.length + further;
  return html`${table(
      shown,
      [
        "pool",
        "runs out",
        of,
        "free at the peak",
        "none idle",
        "weekly peak",
        "±/week",
        "average",
        "±/week",
        "for 99%",
      ],
      (pool) => [
        html`<bdi>${poolText(pool)}</bdi>`,
        runsOutText(pool),
        countText(pool.servers),
        `${pool.exact ? "" : "≥"}${countText(pool.headroom)}`,
        `${pool.exact || pool.no_idle_seconds === 0 ? "" : "≤"}${durationText(pool.no_idle_seconds)}`,
        shareText(pool.peak_level),
        riseText(pool.peak_rise_per_week),
        shareText(pool.level),
        riseText(pool.rise_per_week),
        neededText(pool),
      ],
      2,
    )}
    <p class="quiet">
      Peak and average of the last week, as shares of the ${of} that there are now, and by how many
      percentage points they rise or fall in a week. None idle: time in the range in which none of
      the ${of} was idle. For 99%: ${of} that would have been enough for 99% of the range.
      ${more > 0 ? `And ${more} more pools.` : ""}
    </p>
    ${shown.slice(0, mostAnswers).map(({ answer, notes }) => html`<p><b>${answer}</b> ${notes.join(" ")}</p>`)}`;
}

function nameTitle(of: OutlookView["of"]): string {
  return of === "servers" ? "name" : "benchmark";
}

/** The names with the least headroom first, and of those the largest. */
function headroom({ names, outlook: { of } }: PageReport): Html {
  const tightest = names.toSorted(
    (one, other) =>
      (one.headroom ?? Infinity) - (other.headroom ?? Infinity) ||
      (other.occupied_average ?? 0) - (one.occupied_average ?? 0),
  );
  return html`${table(
      tightest.slice(0, mostNames),
      [nameTitle(of), "occupancy", "average", "peak", of, "headroom", "occupied"],
      (row) => [
        name(row, of === "servers" ? "server_name" : "benchmark"),
        headroomBar(row),
        averageText(row.occupied_average),
        peakText(row, true),
        countText(row.servers_peak),
        headroomText(row, true),
        shareText(row.occupied_share),
      ],
      1,
    )}
    <p class="quiet">
      ${swatch("average", "occupied on average")} ${swatch("peak", "at the peak")}
      ${swatch("free", "headroom")}
      ${names.length > mostNames ? `and ${names.length - mostNames} more` : ""}
    </p>`;
}

const figures: readonly (readonly [string, (row: RowView) => string])[] = [
  ["occupied", (row) => shareText(row.occupied_share)],
  ["unobserved", (row) => shareText(row.unobserved_share)],
  ["idle", (row) => shareText(row.idle_share)],
  ["error", (row) => shareText(row.error_share)],
  ["average", (row) => averageText(row.occupied_average)],
  ["peak", (row) => peakText(row, true)],
  ["servers", (row) => averageText(row.servers_average)],
  ["headroom", (row) => headroomText(row, true)],
  ["incidents", (row) => countText(row.incidents)],
  ["median stay", medianDwell],
];

function medianDwell(row: RowView): string {
  const stay = dwellOf(row, "median");
  const bounds = dwellBoundsText(stay);
  return `${dwellText(stay, true)}${bounds === null ? "" : ` (${bounds})`}`;
}

function rowsTable({ report: { by, rows } }: PageReport): Html {
  const fields = reportFields.filter((field) => by.includes(field));
  return table(
    rows,
    [...by.map((field) => field.replaceAll("_", " ")), ...figures.map(([title]) => title)],
    (row) => [...by.map((field) => name(row, field)), ...figures.map(([, text]) => text(row))],
    fields.length,
  );
}

/** Names come from the service: each keeps its direction of writing to itself. */
function name(row: RowView, field: ReportField): Html {
  return html`<bdi>${readable(row[field] || "-", longestName)}</bdi>`;
}

/** @param texts the number of columns that are not of numbers */
function table<Row>(
  rows: readonly Row[],
  titles: readonly string[],
  cellsOf: (row: Row) => readonly (Html | string)[],
  texts: number,
): Html {
  const kind = (column: number): string => (column < texts ? "text" : "number");
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${titles[0] ?? ""}, table">
    <table>
      <thead>
        <tr>
          ${titles.map((title, column) => html`<th class="${kind(column)}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${cellsOf(row).map((cell, column) => html`<td class="${kind(column)}">${cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

const style = `
:root { color-scheme: light dark; --ink: #1d2430; --quiet: #5a6472; --page: #fff; --line: #d9dee5;
  --accent: #1a62c6; --peak: #8fb5ea; --free: #e6ebf2; --unobserved: #9aa3af; --note: #fff4d6; --note-line: #c98a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --quiet: #a0a9b6; --page: #14181e; --line: #333b46;
  --accent: #6ea8ff; --peak: #34598f; --free: #262d37; --unobserved: #717b89; --note: #3a2f10; --note-line: #e0a92e; } }
@media print { :root { color-scheme: light; --ink: #000; --quiet: #444; --page: #fff; --line: #ccc; --accent: #1a62c6;
  --peak: #8fb5ea; --free: #e6ebf2; --unobserved: #9aa3af; --note: #fff; --note-line: #c98a00; } }
* { box-sizing: border-box; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; } .quiet, figcaption { color: var(--quiet); font-size: .85rem; }
.answer { font-size: 1.15rem; font-weight: 600; margin: 1rem 0; }
.note { background: var(--note); border-left: 4px solid var(--note-line); padding: .5rem .8rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 1.2rem 0; }
.tiles div { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; }
dt, .more { color: var(--quiet); font-size: .8rem; } dd { margin: 0; font-size: 1.25rem; font-weight: 600; line-height: 1.3; }
dd.more { font-size: .8rem; font-weight: 400; }
.plot { display: grid; grid-template-columns: 2.8rem 1fr; margin: 0; }
.plot svg { width: 100%; height: 12rem; display: block; border: 1px solid var(--line); }
.plot.heatmap svg { height: 11rem; border: 0; }
.y { display: flex; flex-direction: column; justify-content: space-between; font-size: .75rem; color: var(--quiet); line-height: 1; }
.heatmap .y { justify-content: space-around; }
.x { grid-column: 2; display: flex; justify-content: space-between; font-size: .75rem; color: var(--quiet); white-space: nowrap; }
figcaption { grid-column: 2; }
.days { position: relative; height: 1.2rem; } .days span { position: absolute; transform: translateX(-50%); }
.grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
.plot rect { shape-rendering: crispEdges; }
.slot { fill: transparent; } .unobserved { fill: var(--unobserved); fill-opacity: .45; }
.line { fill: none; stroke: var(--accent); stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.cell { fill: var(--accent); } .cell.none { fill: var(--unobserved); fill-opacity: .45; }
.bar { width: 9rem; height: .8rem; display: block; } .free { fill: var(--free); } .peak { fill: var(--peak); } .average { fill: var(--accent); }
.swatch { white-space: nowrap; margin-right: .8rem; }
.key { display: inline-block; width: .9rem; height: .7rem; margin-right: .3rem; vertical-align: -1px; }
.line-key, .average-key { background: var(--accent); } .peak-key { background: var(--peak); }
.free-key { background: var(--free); } .unobserved-key { background: var(--unobserved); opacity: .45; }
.scale-key { width: 5rem; background: linear-gradient(to right, transparent, var(--accent)); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; } .number { text-align: right; font-variant-numeric: tabular-nums; }
td.text { max-width: 18rem; white-space: normal; overflow-wrap: break-word; }
@media (max-width: 40rem) { .bar { width: 4rem; } }
@media print { :root { font-size: 10px; } body { max-width: none; padding: 0; font-size: 10px; }
  th, td { white-space: normal; padding-right: .5rem; } td.text { overflow-wrap: anywhere; } .bar { width: 8rem; } section, tr { break-inside: avoid; } .scroll { overflow: visible; }
  section:has(tr) { break-inside: auto; } }
`;
