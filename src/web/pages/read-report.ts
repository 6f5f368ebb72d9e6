import type { HistoryContext } from "../../api/context.ts";
import type { CallApi } from "../../api/operation.ts";
import { reportOccupancy } from "../../api/operations/occupancy.ts";
import type { OccupancyView, ReportRequest, RowView } from "../../api/operations/occupancy.ts";
import { computeOutlook, type OutlookView } from "../../api/operations/outlook.ts";

/** What the page of a report shows, all of the same range. */
export interface PageReport {
  /** Its rows are those of the table, by the fields that the user wants. */
  readonly report: Omit<OccupancyView, "next">;
  /** Whether there are rows that the table does not show. */
  readonly hasMore: boolean;
  readonly total: RowView | undefined;
  readonly days: readonly RowView[];
  readonly hours: readonly RowView[];
  readonly names: readonly RowView[];
  readonly outlook: OutlookView;
}

export interface PageRequest extends ReportRequest {
  /** Of the forecasts of averages. */
  readonly threshold?: unknown;
}

/** The table is looked at as a whole. */
const mostRows = 500;
const rowsAtOnce = 5_000;

/** All rows of a report. */
export async function readRows(
  api: CallApi<HistoryContext>,
  request: ReportRequest,
): Promise<readonly RowView[]> {
  const rows: RowView[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const asked = { ...request, limit: rowsAtOnce, ...(cursor !== undefined && { cursor }) };
    const page: OccupancyView = await api(reportOccupancy, asked);
    rows.push(...page.rows);
    cursor = page.next;
  }
  return rows;
}

/** @throws {RefusedError} when the request is not valid */
export async function readReport(
  api: CallApi<HistoryContext>,
  { threshold, ...request }: PageRequest,
): Promise<PageReport> {
  const { next, ...report } = await api(reportOccupancy, { ...request, limit: mostRows });
  // The same range, although time goes on.
  const { of = "servers", tz, region, key, label } = request;
  const same = { of, from: report.from, to: report.to, tz, region, key, label };
  const rowsBy = (by: string) => readRows(api, { ...same, by });
  const [total] = await rowsBy("");
  const outlook = await api(computeOutlook, {
    ...same,
    ...(threshold !== undefined && { threshold }),
  });
  return {
    report,
    hasMore: next !== null,
    total,
    days: await rowsBy("day"),
    hours: await rowsBy("hour"),
    names: await rowsBy(of === "servers" ? "server_name" : "benchmark"),
    outlook,
  };
}
