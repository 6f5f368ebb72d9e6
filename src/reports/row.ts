import { statuses } from "../fleet/status.ts";
import type { CountByStatus } from "../fleet/tallies.ts";
import type { DwellHistogram } from "../fleet/dwell.ts";
import type { ReportField } from "./fields.ts";
import type { GroupValues } from "./groups.ts";
import type { TimeRange } from "./time-range.ts";

/** What is told of a group of servers for a stretch of time. */
export interface ReportRow {
  /** What the row is of, by the fields of the report. */
  readonly group: GroupValues;
  /** Milliseconds of servers. */
  readonly ms: CountByStatus;
  /** Of servers too, those included that are only estimated: nothing at all is known of that time. */
  readonly unobservedMs: number;
  /** Whether any of the time was watched, with servers or without. */
  readonly isObserved: boolean;
  /** While it was watched; null: it was not. */
  readonly occupiedAverage: number | null;
  readonly occupiedPeak: Peak | null;
  /** Of servers that were occupied: those that ended, of known length. */
  readonly dwells: DwellHistogram;
  /** That began to fire. */
  readonly incidents: number;
  /** Of those that ended with the server's recovery. */
  readonly recoveries: { readonly count: number; readonly ms: number };
}

/** The most servers that were occupied at a time. */
export interface Peak {
  readonly count: number;
  /** Otherwise there were at most that many: the sum of what several had, though not at one moment. */
  readonly isExact: boolean;
}

/** The place of a row, from which the next ones can be asked for. */
export interface RowPlace {
  /** The beginning of the hour or day that the row is of. */
  readonly cellMs: number;
  /** How many rows of the same were before it. */
  readonly index: number;
}

export interface PlacedRow {
  readonly row: ReportRow;
  readonly place: RowPlace;
}

/** @param after the place of the last row that is not wanted; null: all are */
export function* placeRows(
  rows: Iterable<ReportRow>,
  cellMs: number,
  after: RowPlace | null,
): Iterable<PlacedRow> {
  let index = 0;
  for (const row of rows) {
    if (cellMs !== after?.cellMs || index > after.index) yield { row, place: { cellMs, index } };
    index += 1;
  }
}

export interface Report {
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  /** What is not as one might think. */
  readonly notes: readonly string[];
  readonly rows: AsyncIterable<PlacedRow>;
}

export function serverMsOfRow({ ms, unobservedMs }: ReportRow): number {
  return statuses.reduce((sum, status) => sum + ms[status], unobservedMs);
}

/** Parts of the servers' time, from 0 to 1; they add up to 1. Null: there were no servers. */
export type Shares = Readonly<Record<keyof CountByStatus | "unobserved", number>>;

export function sharesOf(row: ReportRow): Shares | null {
  const { ms, unobservedMs, isObserved } = row;
  const whole = serverMsOfRow(row);
  if (whole > 0) {
    return {
      idle: ms.idle / whole,
      occupied: ms.occupied / whole,
      error: ms.error / whole,
      unknown: ms.unknown / whole,
      unobserved: unobservedMs / whole,
    };
  }
  return isObserved ? null : { idle: 0, occupied: 0, error: 0, unknown: 0, unobserved: 1 };
}
