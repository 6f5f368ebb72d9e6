import { groupText, type RowView } from "../../api/operations/occupancy.ts";
import type { OutlookView } from "../../api/operations/outlook.ts";
import { longestName, readable } from "../../fleet/text.ts";
import { html, table, type Column, type Html } from "../html.ts";
import { dailyChart, headroomBar, heatmap, hourOf, swatch } from "./report-charts.ts";
import type { PageReport } from "./read-report.ts";
import { minuteText, reportDocument } from "./report-document.ts";
import { averageText, countText, shareText, riseText } from "../../reports/quantities.ts";
import {
  neededText,
  forecastDateText,
  headroomText,
  peakText,
  noIdleText,
  runsOutText,
  dwellBoundsText,
  dwellOf,
  dwellText,
} from "../../api/figures.ts";

const mostNames = 30;

/** One file, which needs nothing else: no script, no font, no image. */
export function renderReport(page: PageReport): string {
  const { report, hasMore, total, days, hours, names, outlook } = page;
  const { from, to, tz, notes } = report;
  const range = `${minuteText(from, tz)} to ${minuteText(to, tz)}`;
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
    ${section(`By ${report.by.join(", ").replaceAll("_", " ") || "nothing: one row"}`, report.rows.length > 0 ? rowsTable(report) : null)}
    ${hasMore ? html`<p class="quiet">and more rows: the format csv has all of them</p>` : ""}`;
  return reportDocument(`Occupancy of ${outlook.of}, ${range}`, body);
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
          <dd${value.length > longestFigure ? html` class="text"` : ""}>${value.replaceAll("-", "\u2011")}</dd>
          <dd class="more">${more}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Longer values are sentences, which are set smaller. */
const longestFigure = 16;

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
  return readable(
    parts.flatMap((part) => (part === undefined ? [] : [part || "-"])).join("/"),
    longestName,
  );
}

/** The most urgent pools first. */
function runOut({ of, pools, further }: OutlookView): Html {
  const shown = pools.slice(0, mostPools);
  const more = pools.length - shown.length + further;
  return html`${scrolled(shown, [
      text("pool", (pool) => html`<bdi>${poolText(pool)}</bdi>`),
      text("runs out", runsOutText),
      figure(of, (pool) => countText(pool.servers)),
      figure("free at the peak", (pool) => `${pool.exact ? "" : "≥"}${countText(pool.headroom)}`),
      figure(
        "none idle",
        (pool) => `${pool.exact || pool.no_idle_seconds === 0 ? "" : "≤"}${noIdleText(pool)}`,
      ),
      figure("weekly peak", (pool) => shareText(pool.peak_level)),
      figure("±/week", (pool) => riseText(pool.peak_rise_per_week)),
      figure("average", (pool) => shareText(pool.level)),
      figure("±/week", (pool) => riseText(pool.rise_per_week)),
      figure("for 99%", neededText),
    ])}
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
  return html`${scrolled(tightest.slice(0, mostNames), [
      text(nameTitle(of), (row) => name(row, of === "servers" ? "server_name" : "benchmark")),
      figure("occupancy", headroomBar),
      figure("average", (row) => averageText(row.occupied_average)),
      figure("peak", (row) => peakText(row, true)),
      figure(of, (row) => countText(row.servers_peak)),
      figure("headroom", (row) => headroomText(row, true)),
      figure("occupied", (row) => shareText(row.occupied_share)),
    ])}
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

/** How many there were says nothing where each row is of one server. */
const ofSeveral: ReadonlySet<string> = new Set(["average", "peak", "servers", "headroom"]);

function medianDwell(row: RowView): string {
  const stay = dwellOf(row, "median");
  const bounds = dwellBoundsText(stay);
  return `${dwellText(stay, true)}${bounds === null ? "" : ` (${bounds})`}`;
}

export function rowsTable({ by, rows }: PageReport["report"]): Html {
  const isOne = by.includes("server");
  const shown = figures.filter(([title]) => !isOne || !ofSeveral.has(title));
  return scrolled(rows, [
    ...by.map((field) => text(field.replaceAll("_", " "), (row: RowView) => name(row, field))),
    ...shown.map(([title, textOf]) => figure(title, textOf)),
  ]);
}

/** Names come from the service: each keeps its direction of writing to itself. */
function name(row: RowView, field: string): Html {
  return html`<bdi>${readable(groupText(row, field), longestName)}</bdi>`;
}

function text<Row>(head: string, cell: Column<Row>["cell"]): Column<Row> {
  return { head, cell, tone: "text" };
}

function figure<Row>(head: string, cell: Column<Row>["cell"]): Column<Row> {
  return { head, cell, isNumber: true };
}

function scrolled<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Html {
  const [first] = columns;
  return html`<div
    class="scroll"
    tabindex="0"
    role="region"
    aria-label="${first?.head ?? ""}, table"
  >
    ${table(rows, columns)}
  </div>`;
}
