import { Cron, CronPattern, type CronOptions } from "croner";
import { isTimeZone } from "./zone-offset.ts";

/** The moments that a cron expression names, found from any moment. UTC milliseconds. */
interface Moments {
  /** The last one at or before a moment; null: there was none. */
  readonly latest: (atMs: number) => number | null;
  /** The first one after a moment; null: there is none. */
  readonly next: (afterMs: number) => number | null;
}

export interface CronTimes extends Moments {
  /** How far apart the moments are at least, without the hour that a change of the clocks adds or takes. */
  readonly intervalMs: number;
}

const secondMs = 1_000;
const dayMs = 24 * 3_600 * secondMs;

/** Every value of every field written out is half as long. */
const longestExpression = 1_000;

/** Five fields, six with seconds first, or a nickname such as `@daily`. */
function readPattern(expression: string): CronPattern | undefined {
  if (expression.length > longestExpression) return undefined;
  try {
    return new CronPattern(expression, undefined, { mode: "5-or-6-parts" });
  } catch {
    return undefined;
  }
}

const fieldNames = ["second", "minute", "hour", "day of month", "month", "day of week"];

/** The first field that makes an expression wrong; undefined: it is wrong as a whole. */
export function wrongCronField(expression: string): string | undefined {
  const fields = expression.trim().split(/\s+/, fieldNames.length + 1);
  if (fields.length === fieldNames.length - 1) fields.unshift("0");
  if (fields.length !== fieldNames.length || expression.length > longestExpression)
    return undefined;
  return fieldNames.find((_, at) => {
    const alone = fields.map((field, index) => (index === at ? field : "*"));
    return readPattern(alone.join(" ")) === undefined;
  });
}

/**
 * When a cron expression comes, as croner computes it: polls, probes, reports and maintenance windows ask here. Where clocks
 * are changed:
 *
 * - One for certain hours also comes at the end of a missing hour, if it names a time in that hour.
 * - One for a single time in certain hours comes once in a repeated hour, at the first of the two. Others come in both: what
 *   comes that often must not pause for an hour.
 *
 * @returns undefined when the expression or the time zone is none
 */
export function parseCronTimes(expression: string, timeZone: string): CronTimes | undefined {
  const pattern = readPattern(expression);
  if (!pattern || !isTimeZone(timeZone)) return undefined;
  const namesHours = pattern.hour.includes(0);
  const isOnce =
    namesHours && valuesOf(pattern.minute).length * valuesOf(pattern.second).length === 1;
  const parts = [
    ...(namesHours ? [momentsOf(withLists(expression, pattern), timeZone, "no-wildcard")] : []),
    ...(isOnce ? [] : [momentsOf(expression, timeZone, "single-value")]),
  ];
  let intervalMs: number | undefined;
  return {
    latest(atMs) {
      const found = parts.flatMap((part) => part.latest(atMs) ?? []);
      return found.length === 0 ? null : Math.max(...found);
    },
    next(afterMs) {
      const found = parts.flatMap((part) => part.next(afterMs) ?? []);
      return found.length === 0 ? null : Math.min(...found);
    },
    get intervalMs() {
      intervalMs ??= intervalOf(pattern, momentsOf(expression, "UTC", "single-value"));
      return intervalMs;
    },
  };
}

/** To croner, only times without a wildcard and a step are certain ones. */
function withLists(expression: string, { second, minute, hour }: CronPattern): string {
  const days = expression.trim().split(/\s+/).slice(-3);
  if (days.length < 3) return expression;
  return [...[second, minute, hour].map((each) => valuesOf(each).join()), ...days].join(" ");
}

function momentsOf(
  expression: string,
  timezone: string,
  fixedTimeRule: NonNullable<CronOptions["fixedTimeRule"]>,
): Moments {
  const cron = new Cron(expression, { timezone, fixedTimeRule, paused: true });
  return {
    latest: (atMs) => cron.previousRuns(1, new Date(Math.floor(atMs) + 1))[0]?.getTime() ?? null,
    next: (afterMs) => cron.nextRun(new Date(Math.floor(afterMs)))?.getTime() ?? null,
  };
}

function intervalOf(pattern: CronPattern, readings: Moments): number {
  const [minutes, seconds] = [valuesOf(pattern.minute), valuesOf(pattern.second)];
  const ofDay = valuesOf(pattern.hour).flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => (hour * 60 + minute) * 60 + second)),
  );
  const overNightMs = dayMs + ((ofDay[0] ?? 0) - (ofDay.at(-1) ?? 0)) * secondMs;
  const isEveryDay = pattern.starDOM && pattern.starDOW && !pattern.month.includes(0);
  const days = isEveryDay ? 1 : fewestDaysApart(readings);
  const withinDayMs = ofDay.slice(1).map((second, at) => (second - (ofDay[at] ?? 0)) * secondMs);
  return Math.min(...withinDayMs, (days - 1) * dayMs + overNightMs);
}

function valuesOf(field: readonly number[]): readonly number[] {
  return field.flatMap((isNamed, value) => (isNamed ? [value] : []));
}

/** From here until the end the calendar has had each of its forms, the 29th of February on a Sunday too. */
const calendarStartMs = Date.UTC(2000, 0, 1);
const calendarEndMs = Date.UTC(2029, 0, 1);
/** A schedule that occurs more often than on one day in ten shows all its intervals within this time. */
const mostDays = 1_100;

/** How many days lie at least between those that an expression names. */
function fewestDaysApart(readings: Moments): number {
  let fewest = Infinity;
  let atMs = readings.next(calendarStartMs - 1);
  for (let count = 0; atMs !== null && atMs < calendarEndMs && count < mostDays; count += 1) {
    const day = Math.floor(atMs / dayMs);
    atMs = readings.next((day + 1) * dayMs - 1);
    if (atMs !== null) fewest = Math.min(fewest, Math.floor(atMs / dayMs) - day);
  }
  return fewest;
}
