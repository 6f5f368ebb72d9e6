import type { TimeField } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";
import { offsetText, toLocal, toUtc, type Zone } from "./zone.ts";

/** A stretch of the calendar that is in one row, or in one of several. */
export interface Cell extends TimeRange {
  /** As rows show it. */
  readonly labels: Readonly<Partial<Record<TimeField, string>>>;
}

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** In the order of their rows. */
export const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

/**
 * The hours or days of a zone's calendar that a range touches, the first and the last one clipped; the
 * range as a whole where no field is of time. Days are as long as they are where clocks are changed.
 */
export function* cellsOf(
  { fromMs, toMs }: TimeRange,
  fields: readonly TimeField[],
  zone: Zone,
): Generator<Cell, void> {
  if (fields.length === 0) {
    yield { fromMs, toMs, labels: {} };
    return;
  }
  const next = nextOf(fields);
  for (let atMs = fromMs; atMs < toMs;) {
    const endMs = Math.min(next(zone, atMs), toMs);
    yield { fromMs: atMs, toMs: endMs, labels: labelsAt(zone, atMs, fields) };
    atMs = endMs;
  }
}

/** When the shortest of the periods ends. */
function nextOf(fields: readonly TimeField[]): (zone: Zone, atMs: number) => number {
  if (fields.includes("hour") || fields.includes("hour_of_day")) return nextHour;
  if (fields.includes("day") || fields.includes("weekday")) return nextDay;
  if (!fields.includes("week")) return nextMonth;
  if (!fields.includes("month")) return nextWeek;
  return (zone, atMs) => Math.min(nextWeek(zone, atMs), nextMonth(zone, atMs));
}

/** Of an hour that is cut in two, where clocks are set back by half of one, each part is one. */
function nextHour(zone: Zone, atMs: number): number {
  const localMs = toLocal(zone, atMs);
  return atMs + hourMs - (localMs - floor(localMs, hourMs));
}

function nextDay(zone: Zone, atMs: number): number {
  const today = floor(toLocal(zone, atMs), dayMs);
  for (let days = 1; ; days += 1) {
    const beginMs = toUtc(zone, today + days * dayMs);
    // A day that a zone skips has no time at all.
    if (beginMs > atMs) return beginMs;
  }
}

/** Weeks begin on Mondays. */
function nextWeek(zone: Zone, atMs: number): number {
  return toUtc(zone, mondayOf(toLocal(zone, atMs)) + 7 * dayMs);
}

function nextMonth(zone: Zone, atMs: number): number {
  const date = new Date(toLocal(zone, atMs));
  return toUtc(zone, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1));
}

function mondayOf(localMs: number): number {
  return floor(localMs, dayMs) - weekdayOf(localMs) * dayMs;
}

function weekdayOf(localMs: number): number {
  return (new Date(localMs).getUTCDay() + 6) % 7;
}

/** The order of periods of the same calendar that may repeat. */
export function compareLabels(one: Cell["labels"], other: Cell["labels"]): number {
  const textOf = ({
    month = "",
    week = "",
    weekday = "",
    hour_of_day: hour = "",
  }: Cell["labels"]) =>
    [month, week, weekdays.findIndex((each) => each === weekday), hour].join(" ");
  const [first, second] = [textOf(one), textOf(other)];
  return first < second ? -1 : Number(first > second);
}

function labelsAt(zone: Zone, atMs: number, fields: readonly TimeField[]): Cell["labels"] {
  const localMs = toLocal(zone, atMs);
  const date = new Date(localMs);
  const all: Record<TimeField, string> = {
    hour: `${date.toISOString().slice(0, 13)}:00${offsetText(zone, atMs)}`,
    day: date.toISOString().slice(0, 10),
    week: new Date(mondayOf(localMs)).toISOString().slice(0, 10),
    month: date.toISOString().slice(0, 7),
    weekday: weekdays[weekdayOf(localMs)] ?? "",
    hour_of_day: date.toISOString().slice(11, 13),
  };
  return Object.fromEntries(fields.map((field) => [field, all[field]]));
}

function floor(ms: number, unitMs: number): number {
  return Math.floor(ms / unitMs) * unitMs;
}
