import { isBeyond, lookedAtOnce } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

/** UTC milliseconds. */
interface QueriedTimes {
  readonly fromMs: number;
  readonly toMs: number;
  readonly direction: "asc" | "desc";
}

export const place = ["changes.at_ms", "changes.seq"];

export function beyond(direction: QueriedTimes["direction"]): "<" | ">" {
  return direction === "desc" ? "<" : ">";
}

/** SQLite seeks in an index by one bound of each side: without the nearest ones it would begin each page at the first row. */
export function timesBetween(
  { fromMs, toMs, direction }: QueriedTimes,
  after: ChangeCursor | null,
  end: ChangeCursor | null,
): Pick<QueriedTimes, "fromMs" | "toMs"> {
  const [first, last] = direction === "desc" ? [end, after] : [after, end];
  return {
    fromMs: Math.max(fromMs, first?.atMs ?? fromMs),
    toMs: Math.min(toMs, (last?.atMs ?? toMs) + 1),
  };
}

/** The last of the changes that one statement looks at; null: all that follow. */
export async function windowEnd(
  reader: Db,
  query: QueriedTimes,
  after: ChangeCursor | null,
): Promise<ChangeCursor | null> {
  const { direction } = query;
  const { fromMs, toMs } = timesBetween(query, after, null);
  let rows = reader
    .selectFrom("changes")
    .select(["changes.at_ms as atMs", "changes.seq"])
    .where("changes.at_ms", ">=", fromMs)
    .where("changes.at_ms", "<", toMs);
  if (after) rows = rows.where(isBeyond(place, beyond(direction), [after.atMs, after.seq]));
  const end = await rows
    .orderBy("changes.at_ms", direction)
    .orderBy("changes.seq", direction)
    .offset(lookedAtOnce - 1)
    .limit(1)
    .executeTakeFirst();
  return end ?? null;
}

/** The position of a change among all that are stored. As text it is for others to hand back, and for nothing else. */
export interface ChangeCursor {
  readonly atMs: number;
  /** The order in which changes were stored, whatever the clock said. */
  readonly seq: number;
}

export function cursorText({ atMs, seq }: ChangeCursor): string {
  return `${atMs}_${seq}`;
}

const cursorPattern = /^(-?\d{1,15})_(\d{1,15})$/;

export function isChangeCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/** @throws {RangeError} when it is not a cursor */
export function readCursor(text: string): ChangeCursor {
  const [, atMs, seq] = cursorPattern.exec(text) ?? [];
  if (atMs === undefined || seq === undefined) {
    throw new RangeError("a cursor of changes must be one that they gave");
  }
  return { atMs: Number(atMs), seq: Number(seq) };
}
