import { serverMsOf } from "../fleet/buckets.ts";
import type { DwellHistogram } from "../fleet/dwell.ts";
import type { Target } from "../fleet/model.ts";
import { byStatus, countByStatus, type CountByStatus } from "../fleet/tallies.ts";
import type { IncidentCounts } from "./incident-times.ts";
import type { ReportField } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";

export type GroupValues = Readonly<Partial<Record<ReportField, string>>>;

/** A group of servers for a stretch of time. */
export interface ReportRow {
  /** The group, by the fields of the report. */
  readonly group: GroupValues;
  /** Milliseconds of servers. */
  readonly ms: CountByStatus;
  /** Unobserved milliseconds of servers, including an estimate for time of which nothing is known. */
  readonly unobservedMs: number;
  /** Whether any of the time was observed, with servers or without. */
  readonly isObserved: boolean;
  /** While it was observed; null: it was not. */
  readonly occupiedAverage: number | null;
  readonly occupiedPeak: Peak | null;
  /** Of all servers, while it was observed; null: it was not. */
  readonly serversAverage: number | null;
  readonly serversPeak: number | null;
  /** In `occupied`: those that ended, of known length. */
  readonly dwells: DwellHistogram;
  /** Each of them, where all are known. */
  readonly dwellsMs: readonly number[];
  /** Incidents that began to fire. */
  readonly incidents: number;
  /** Incidents that ended because the server recovered, and how long they lasted at least and at most in all. */
  readonly recoveries: Readonly<IncidentCounts["recoveries"]>;
}

/** The most servers that were occupied at a time. */
export interface Peak {
  readonly count: number;
  /** Otherwise there were at most that many: the sum of what several had, though not at one moment. */
  readonly isExact: boolean;
}

/** The position of a row, from which the next ones can be asked for. */
export interface RowPosition {
  /** The beginning of the hour or day that the row is of. */
  readonly cellMs: number;
  /** The sandbox, in a report of sandboxes or servers. */
  readonly sandbox?: SandboxPosition | undefined;
  /** How many rows of the same were before it. */
  readonly index: number;
}

export interface SandboxPosition extends Target {
  readonly sandboxId: string;
}

export interface PlacedRow {
  readonly row: ReportRow;
  readonly position: RowPosition;
}

/** @param after the position of the last row that is not wanted; null: all are */
export function* placeRows(
  rows: readonly ReportRow[],
  cellMs: number,
  after: RowPosition | null,
): Iterable<PlacedRow> {
  for (const [index, row] of rows.entries()) {
    if (cellMs !== after?.cellMs || index > after.index) yield { row, position: { cellMs, index } };
  }
}

export interface Report {
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  /** What readers have to know of it. */
  readonly notes: readonly string[];
  /** A warning if little was observed. It costs nothing after all rows were read. None on pages after the first one. */
  readonly coverageNotes: () => Promise<readonly string[]>;
  readonly rows: AsyncIterable<PlacedRow>;
}

/** Parts of the servers' observed time, from 0 to 1; they add up to 1. Null: no server was observed. */
export function sharesOf({ ms }: Pick<ReportRow, "ms">): CountByStatus | null {
  const observedMs = countByStatus(ms);
  return observedMs === 0 ? null : byStatus((status) => ms[status] / observedMs);
}

/** The unobserved part of the servers' time, from 0 to 1. Null: it was observed that there were no servers. */
export function unobservedShareOf(row: ReportRow): number | null {
  const wholeMs = serverMsOf(row);
  if (wholeMs === 0) return row.isObserved ? null : 1;
  return row.unobservedMs / wholeMs;
}

/** The servers that were not occupied when the most were. */
export function headroomOf({ occupiedPeak, serversPeak }: ReportRow): number | null {
  if (!occupiedPeak || serversPeak === null) return null;
  return Math.max(0, serversPeak - occupiedPeak.count);
}

/** The order of rows. */
export function compareValues(
  one: GroupValues,
  other: GroupValues,
  fields: readonly ReportField[],
): number {
  for (const field of fields) {
    const [a = "", b = ""] = [one[field], other[field]];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
