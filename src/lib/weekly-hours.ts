import { zoneOffset } from "./zone-offset.ts";

export const daysOfWeek = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** The same times on some days of the week, in the time of a zone. */
export interface OpenRange {
  /** From 0 for Monday. */
  readonly days: readonly number[];
  /** Minutes of the day. An end that is not after the start is on the next day. */
  readonly fromMinute: number;
  readonly toMinute: number;
}

const dayMinutes = 24 * 60;
const weekMinutes = 7 * dayMinutes;

/** `mon-fri 08:00-18:00`, `sat 10:00-14:00`, or `sun` for all of it. */
export function parseOpenRange(text: string): OpenRange | undefined {
  const form = /^\s*([a-z]{3})(?:-([a-z]{3}))?(?:\s+(\d\d):(\d\d)-(\d\d):(\d\d))?\s*$/.exec(text);
  if (!form) return undefined;
  const [, first = "", last = first, ...times] = form;
  const [from, to] = [first, last].map((name) => daysOfWeek.findIndex((each) => each === name));
  if (from === undefined || to === undefined || from < 0 || to < 0) return undefined;
  const length = ((to - from + 7) % 7) + 1;
  const days = Array.from({ length }, (_, at) => (from + at) % 7);
  if (times[0] === undefined) return { days, fromMinute: 0, toMinute: dayMinutes };
  const [fromHour = 0, fromRest = 0, toHour = 0, toRest = 0] = times.map(Number);
  if (fromRest > 59 || toRest > 59) return undefined;
  const [fromMinute, toMinute] = [60 * fromHour + fromRest, 60 * toHour + toRest];
  return fromMinute < dayMinutes && toMinute <= dayMinutes
    ? { days, fromMinute, toMinute }
    : undefined;
}

/**
 * Whether a moment (UTC milliseconds) is in one of the ranges, by what the clocks of a zone show: an hour that is
 * skipped does not come, and one that is repeated comes twice.
 */
export function weeklyHours(ranges: readonly OpenRange[], timeZone: string) {
  const offset = zoneOffset(timeZone);
  return (atMs: number): boolean => {
    const local = new Date(atMs + offset(atMs));
    const day = (local.getUTCDay() + 6) % 7;
    const minute = day * dayMinutes + local.getUTCHours() * 60 + local.getUTCMinutes();
    return ranges.some(({ days, fromMinute, toMinute }) => {
      const lasts =
        toMinute > fromMinute ? toMinute - fromMinute : toMinute - fromMinute + dayMinutes;
      return days.some(
        (each) => (minute - each * dayMinutes - fromMinute + 2 * weekMinutes) % weekMinutes < lasts,
      );
    });
  };
}
