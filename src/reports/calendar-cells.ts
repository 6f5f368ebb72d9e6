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
  const next = fields.includes("hour") ? nextHour : nextDay;
  for (let atMs = fromMs; atMs < toMs;) {
    const endMs = Math.min(next(zone, atMs), toMs);
    yield { fromMs: atMs, toMs: endMs, labels: labelsAt(zone, atMs, fields) };
    atMs = endMs;
  }
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

function labelsAt(zone: Zone, atMs: number, fields: readonly TimeField[]): Cell["labels"] {
  const date = new Date(toLocal(zone, atMs));
  const all: Record<TimeField, string> = {
    hour: `${date.toISOString().slice(0, 13)}:00${offsetText(zone, atMs)}`,
    day: date.toISOString().slice(0, 10),
    weekday: weekdays[(date.getUTCDay() + 6) % 7] ?? "",
  };
  return Object.fromEntries(fields.map((field) => [field, all[field]]));
}

function floor(ms: number, unitMs: number): number {
  return Math.floor(ms / unitMs) * unitMs;
}
