import { parseDuration } from "../fleet/text.ts";
import { toLocal, toUtc, type LocalMs, type Zone } from "./zone.ts";

/** From a moment up to another one, which does not belong to it. UTC milliseconds. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export const allTime: TimeRange = {
  fromMs: Number.MIN_SAFE_INTEGER,
  toMs: Number.MAX_SAFE_INTEGER,
};

/** What is wrong with a range as it was written, and what is allowed. */
export interface RangeFault {
  readonly field: "from" | "to";
  readonly allowed: string;
}

export interface WrittenRange {
  readonly from: string;
  readonly to?: string | undefined;
}

export interface TimeContext {
  readonly nowMs: number;
  /** Where times without an offset, days, weeks and months are. */
  readonly zone: Zone;
}

/**
 * Reads a range. Without `to` it goes on until now, but what `from` names by a word, such as `yesterday`,
 * is the whole of that. With `to`, both stand for the moments at which what they name begins.
 */
export function readTimeRange(
  { from, to }: WrittenRange,
  context: TimeContext,
): TimeRange | RangeFault {
  const begin = readTime(from, context);
  if (!begin) return { field: "from", allowed: timeAllowed };
  const end = to === undefined ? null : readTime(to, context);
  if (end === undefined) return { field: "to", allowed: timeAllowed };
  const range = { fromMs: begin.fromMs, toMs: end ? end.fromMs : begin.toMs };
  if (range.fromMs < range.toMs) return range;
  return to === undefined
    ? { field: "from", allowed: "a time before now" }
    : { field: "to", allowed: "a time after from" };
}

export function isRangeFault(read: TimeRange | RangeFault): read is RangeFault {
  return "field" in read;
}

export const timeAllowed =
  "a time such as 2026-11-01, 2026-11-01T10:00 or 2026-11-01T10:00Z, a duration ago such as 7d or 12h, or today, yesterday, this week, last week, this month, last month";

/** Reads a single time. @returns what it names, up to now where that has no end; undefined when it is none */
export function readTime(text: string, { nowMs, zone }: TimeContext): TimeRange | undefined {
  const words = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, " ");
  const named = namedPeriods.get(words);
  if (named) {
    const [fromMs, toMs] = named(toLocal(zone, nowMs)).map((localMs) => toUtc(zone, localMs));
    return { fromMs: fromMs ?? nowMs, toMs: Math.min(toMs ?? nowMs, nowMs) };
  }
  if (words === "now") return { fromMs: nowMs, toMs: nowMs };
  const agoMs = parseDuration(words.replace(/ ago$/, ""));
  const atMs = agoMs === undefined ? readAbsolute(text.trim(), zone) : nowMs - agoMs;
  return atMs === undefined || atMs < 0 ? undefined : { fromMs: atMs, toMs: nowMs };
}

type Period = (localMs: LocalMs) => readonly [LocalMs, LocalMs];

/** Weeks begin on Mondays. */
const namedPeriods: ReadonlyMap<string, Period> = new Map([
  ["today", (now) => [day(now, 0), day(now, 1)]],
  ["yesterday", (now) => [day(now, -1), day(now, 0)]],
  ["this week", (now) => [week(now, 0), week(now, 1)]],
  ["last week", (now) => [week(now, -1), week(now, 0)]],
  ["this month", (now) => [month(now, 0), month(now, 1)]],
  ["last month", (now) => [month(now, -1), month(now, 0)]],
]);

function day(localMs: LocalMs, days: number): LocalMs {
  const date = new Date(localMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days);
}

function week(localMs: LocalMs, weeks: number): LocalMs {
  const sinceMonday = (new Date(localMs).getUTCDay() + 6) % 7;
  return day(localMs, weeks * 7 - sinceMonday);
}

function month(localMs: LocalMs, months: number): LocalMs {
  const date = new Date(localMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

const absolute =
  /^(?<date>\d{4}-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(?<offset>Z|[+-]\d\d:?\d\d)?)?$/i;

function readAbsolute(text: string, zone: Zone): number | undefined {
  const { date, time = "00:00", offset } = absolute.exec(text)?.groups ?? {};
  if (date === undefined) return undefined;
  const localMs = Date.parse(`${date}T${time}Z`);
  // Date.parse takes the 30th of February for a day in March, and 24:00 for the next day.
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(date)) return undefined;
  if (offset === undefined) return toUtc(zone, localMs);
  const atMs = Date.parse(`${date}T${time}${offset.toUpperCase()}`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
