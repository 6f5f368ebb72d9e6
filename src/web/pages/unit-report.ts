import type { HistoryContext } from "../../api/context.ts";
import type { CallApi } from "../../api/operation.ts";
import { reportOccupancy } from "../../api/operations/occupancy.ts";
import type { OccupancyView, ReportRequest, RowView } from "../../api/operations/occupancy.ts";
import { showSandboxTimeline, showTimeline } from "../../api/operations/show-timeline.ts";
import { longestName, readable } from "../../fleet/text.ts";
import { html, type Html } from "../html.ts";
import { band, bandSums, type Timeline } from "./band.ts";
import { minuteText, reportDocument } from "./report-document.ts";
import { rowsTable } from "./report-page.ts";
import { hatch } from "./status-bar.ts";

/** How some servers or sandboxes, usually one, spent a range. */
export interface UnitReport {
  readonly report: Omit<OccupancyView, "next">;
  /** Whether there are rows that the page does not show. */
  readonly hasMore: boolean;
  readonly timelines: readonly { readonly unit: UnitLabels; readonly timeline: Timeline }[];
}

type UnitLabels = Pick<RowView, "region" | "key" | "sandbox" | "server" | "server_name">;

/** Each has a timeline. */
const mostRows = 50;

/** @throws {RefusedError} when the request is not valid */
export async function readUnitReport(
  api: CallApi<HistoryContext>,
  request: ReportRequest,
): Promise<UnitReport> {
  const { next, ...report } = await api(reportOccupancy, { ...request, limit: mostRows });
  // The same range, although time goes on.
  const { from, to, tz } = report;
  const timelines: UnitReport["timelines"][number][] = [];
  const shown = new Set<string>();
  for (const { region = "", key = "", sandbox = "", server, server_name } of report.rows) {
    const place = { region, key, sandbox };
    const range = { from, to, tz };
    if (request.server === undefined && !shown.has(JSON.stringify(place))) {
      shown.add(JSON.stringify(place));
      const timeline = await api(showSandboxTimeline, { ...place, ...range });
      timelines.push({ unit: place, timeline });
    }
    if (server === undefined) continue;
    const timeline = await api(showTimeline, { ...place, server, ...range });
    timelines.push({ unit: { ...place, server, server_name }, timeline });
  }
  return { report, hasMore: next !== null, timelines };
}

export function renderUnitReport({ report, hasMore, timelines }: UnitReport): string {
  const { from, to, tz, notes, rows } = report;
  const [begin, end] = [minuteText(from, tz), minuteText(to, tz)];
  const [first, another] = timelines;
  const what = first && !another ? nameOf(first.unit) : "servers and sandboxes";
  const title = `How ${what} spent ${begin} to ${end}`;
  const bands = timelines.map(
    ({ unit, timeline }) =>
      html`<section>
        <h2><bdi>${nameOf(unit)}</bdi></h2>
        ${band(timeline, nameOf(unit))}
        <p class="axis"><span>${begin}</span><span>${end}</span></p>
        ${bandSums(timeline)}
        ${timeline.truncated ? html`<p class="note">It changed so often that only the latest changes are drawn.</p>` : ""}
      </section>`,
  );
  const body = html`${hatch}
    <header>
      <h1>${title}</h1>
      <p class="quiet">${tz}. Shares of a status are of observed time.</p>
    </header>
    ${notes.map((note) => html`<p class="note">${note}</p>`)} ${bands}
    ${rows.length > 0 ? figures(report) : html`<p>There is nothing to report.</p>`}
    ${hasMore ? html`<p class="quiet">and more rows: the format csv has all of them</p>` : ""}`;
  return reportDocument(title, body);
}

function figures(report: UnitReport["report"]): Html {
  return html`<section>
    <h2>Figures</h2>
    ${rowsTable(report)}
  </section>`;
}

/** Such as "github 1c4d in us/research". */
function nameOf({ region, key, sandbox, server, server_name: name }: UnitLabels): string {
  const own = server === undefined ? `sandbox ${sandbox}` : `${name || "server"} ${server}`;
  return readable(`${own} in ${region}/${key}`, longestName);
}
