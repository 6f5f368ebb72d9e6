import { z } from "zod";
import { RefusedError } from "../core/refusal.ts";
import { limitOf, listOf, readRequest } from "../interventions/requests.ts";
import type { Clock } from "../platform/clock.ts";
import { readFields } from "./fields.ts";
import { openReport } from "./open-report.ts";
import type { ReportQuery } from "./open-report.ts";
import type { ReportSources } from "./sources.ts";
import { storedSources } from "./stored-sources.ts";
import type { PresentTargetState, ReportStore } from "./stored-sources.ts";
import { isRangeFault, readTimeRange, timeAllowed } from "./time-range.ts";
import type { TimeContext, TimeRange, WrittenRange } from "./time-range.ts";
import { viewRow } from "./view.ts";
import type { OccupancyView, RowView } from "./view.ts";
import { openZone, utc } from "./zone.ts";
import type { Zone } from "./zone.ts";

/** What people ask of sandwatch about how busy servers were. */
export interface ReportDesk {
  occupancy(query: OccupancyQuery): Promise<OccupancyView>;
}

const mostRows = 10_000;
const zoneAllowed = "a time zone such as UTC, Europe/Berlin or +05:30";

/** Whose days and hours are meant. */
export const zoneText = z
  .string()
  .default(utc.name)
  .transform((name, context): Zone => {
    const zone = openZone(name);
    if (zone) return zone;
    context.addIssue({ code: "custom", message: zoneAllowed });
    return z.NEVER;
  });

export const reportRequest = z.strictObject({
  from: z.string(timeAllowed),
  to: z.string().optional(),
  by: z
    .string()
    .default("region,key")
    .transform((text, context) => {
      const read = readFields(text);
      if ("fields" in read) return read.fields;
      context.addIssue({ code: "custom", message: read.allowed });
      return z.NEVER;
    }),
  tz: zoneText,
  region: listOf(z.string().min(1)),
  key: listOf(z.string().min(1)),
});
export type ReportRequest = z.input<typeof reportRequest>;

const cursorAllowed = "what the page before gave as next";

export const occupancyQuery = reportRequest.extend({
  limit: limitOf(1_000, mostRows),
  cursor: z
    .string(cursorAllowed)
    .transform((text, context): Cursor => {
      const cursor = readCursor(text);
      if (cursor) return cursor;
      context.addIssue({ code: "custom", message: cursorAllowed });
      return z.NEVER;
    })
    .optional(),
});
export type OccupancyQuery = z.input<typeof occupancyQuery>;

/** Where a page goes on, in a report of a range that stays what it was on the first page. */
interface Cursor {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  readonly cellMs: number;
  readonly index: number;
}

const cursorPattern = /^(\d{1,15})_(\d{1,15})_(\d{1,15})_(\d{1,15})_(\d{1,9})$/;

function readCursor(text: string): Cursor | undefined {
  const [fromMs, toMs, nowMs, cellMs, index] = cursorPattern.exec(text)?.slice(1).map(Number) ?? [];
  if (fromMs === undefined || toMs === undefined || nowMs === undefined) return undefined;
  if (cellMs === undefined || index === undefined) return undefined;
  return { fromMs, toMs, nowMs, cellMs, index };
}

function cursorText({ fromMs, toMs, nowMs, cellMs, index }: Cursor): string {
  return [fromMs, toMs, nowMs, cellMs, index].join("_");
}

export interface ReportDeskDeps {
  readonly store: ReportStore;
  readonly targets: readonly PresentTargetState[];
  readonly clock: Clock;
}

export function createReportDesk({ store, targets, clock }: ReportDeskDeps): ReportDesk {
  const configured = targets.map(({ target }) => target);
  const sources = storedSources(store, configured, targets);
  return {
    occupancy: (query) => tellPage(query, sources, clock.now().utcMs),
  };
}

async function tellPage(
  request: OccupancyQuery,
  sources: ReportSources,
  nowMs: number,
): Promise<OccupancyView> {
  const { limit, cursor, ...rest } = readRequest(occupancyQuery, request);
  const query = toReportQuery(rest, cursor?.nowMs ?? nowMs);
  const asked = cursor
    ? { ...query, range: { fromMs: cursor.fromMs, toMs: cursor.toMs }, after: cursor }
    : query;
  const report = await openReport(asked, sources);
  const rows: RowView[] = [];
  let next: string | null = null;
  let last: Cursor | null = null;
  for await (const { row, place } of report.rows) {
    if (rows.length === limit) {
      next = last && cursorText(last);
      break;
    }
    rows.push(viewRow(row));
    last = { ...asked.range, nowMs: asked.nowMs, ...place };
  }
  return { ...headOf(report, asked.zone), rows, next };
}

/** @throws {RefusedError} when it cannot be used */
export function readReportQuery(request: ReportRequest, nowMs: number): ReportQuery {
  return toReportQuery(readRequest(reportRequest, request), nowMs);
}

function toReportQuery(
  { from, to, by, tz: zone, region, key }: z.output<typeof reportRequest>,
  nowMs: number,
): ReportQuery {
  const range = rangeOf({ from, to }, { nowMs, zone });
  const filter = {
    ...(region.length > 0 && { region }),
    ...(key.length > 0 && { key }),
  };
  return { range, fields: by, zone, filter, nowMs, after: null };
}

/** @throws {RefusedError} when there is no such range */
export function rangeOf(written: WrittenRange, context: TimeContext): TimeRange {
  const range = readTimeRange(written, context);
  if (!isRangeFault(range)) return range;
  const { field: path, allowed } = range;
  throw new RefusedError("invalid", `The request cannot be used. Allowed: ${path}: ${allowed}`, [
    { path, allowed },
  ]);
}

export function headOf(
  { range, fields, notes }: Awaited<ReturnType<typeof openReport>>,
  zone: Zone,
): Pick<OccupancyView, "from" | "to" | "tz" | "by" | "notes"> {
  const { fromMs, toMs } = range;
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    tz: zone.name,
    by: fields,
    notes,
  };
}
