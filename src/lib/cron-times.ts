import { Cron, CronPattern } from "croner";
import { isTimeZone, zoneOffset, type ZoneOffset } from "./zone-offset.ts";

/** The moments that a cron expression names, found from any moment. UTC milliseconds. */
interface Moments {
  /** The last one at or before a moment; null: there was none. */
  readonly latest: (atMs: number) => number | null;
  /** The first one after a moment; null: there is none. */
  readonly next: (afterMs: number) => number | null;
}

export interface CronTimes extends Moments {
  /** How far apart the moments are, without the hour that a change of the clocks adds or takes. */
  readonly gaps: CronGaps;
}

export interface CronGaps {
  readonly shortestMs: number;
  readonly longestMs: number;
}

const secondMs = 1_000;
const hourMs = 3_600 * secondMs;
const dayMs = 24 * hourMs;

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
 * The only code that knows when a cron expression comes: polls, probes and maintenance windows ask
 * here. Where clocks are changed:
 *
 * - An expression for every hour comes whenever the zone's clock fits it.
 * - One for certain hours also comes at the end of a missing hour, if it names a time in that hour.
 * - One for a single time in certain hours comes once in a repeated hour, at the first of the two.
 *   With more times in an hour it comes in both: what comes that often must not pause for an hour.
 *
 * @returns undefined when the expression or the time zone is none
 */
export function parseCronTimes(expression: string, timeZone: string): CronTimes | undefined {
  const pattern = readPattern(expression);
  if (!pattern || !isTimeZone(timeZone)) return undefined;
  const readings = momentsIn("UTC", expression);
  const namesHours = pattern.hour.includes(0);
  const isOnce =
    namesHours && valuesOf(pattern.minute).length * valuesOf(pattern.second).length === 1;
  const parts = [
    ...(isOnce ? [] : [momentsIn(timeZone, expression)]),
    ...(namesHours ? [namedMoments(readings, zoneOffset(timeZone))] : []),
  ];
  let gaps: CronGaps | undefined;
  return {
    latest(atMs) {
      const found = parts.flatMap((part) => part.latest(Math.floor(atMs)) ?? []);
      return found.length === 0 ? null : Math.max(...found);
    },
    next(afterMs) {
      const found = parts.flatMap((part) => part.next(Math.floor(afterMs)) ?? []);
      return found.length === 0 ? null : Math.min(...found);
    },
    get gaps() {
      return (gaps ??= gapsOf(pattern, readings));
    },
  };
}

/** Whenever the zone's clock fits an expression that names more than a single time of the day. */
function momentsIn(timezone: string, expression: string): Moments {
  const cron = new Cron(expression, { timezone, paused: true });
  return {
    latest: (atMs) => cron.previousRuns(1, new Date(atMs + 1))[0]?.getTime() ?? null,
    next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
  };
}

/** No zone repeats more hours than this; once an hour has as many times in them. */
const mostRepeatedHours = 3;

/**
 * The moments at which a zone's clock first shows the readings, or is set forward past them: croner
 * drops those that are passed over before midnight. Of more than one reading an hour it does not find
 * those near a repeated hour: `momentsIn` has them.
 */
function namedMoments(readings: Moments, offset: ZoneOffset): Moments {
  return {
    latest(atMs) {
      // In a repeated hour the clock has shown later times before.
      const clocks = [offset(atMs), offset(atMs - mostRepeatedHours * hourMs)];
      let reading = readings.latest(atMs + Math.max(...clocks));
      for (let tries = 0; reading !== null && tries <= mostRepeatedHours; tries += 1) {
        const momentMs = momentOf(reading, offset);
        if (momentMs <= atMs) return momentMs;
        reading = readings.latest(reading - 1);
      }
      return null;
    },
    next(afterMs) {
      let reading = readings.next(afterMs + offset(afterMs));
      for (let tries = 0; reading !== null && tries <= mostRepeatedHours; tries += 1) {
        const momentMs = momentOf(reading, offset);
        if (momentMs > afterMs) return momentMs;
        reading = readings.next(reading);
      }
      return null;
    },
  };
}

function momentOf(readingMs: number, offset: ZoneOffset): number {
  const before = offset(readingMs - dayMs);
  const after = offset(readingMs + dayMs);
  let [lowMs, highMs] = [readingMs - after, readingMs - before];
  const shown = [lowMs, highMs].filter((ms) => ms + offset(ms) === readingMs);
  if (shown.length > 0) return Math.min(...shown);
  // The clock was set forward between the two, at a whole second.
  while (highMs - lowMs > secondMs) {
    const middleMs = lowMs + Math.floor((highMs - lowMs) / (2 * secondMs)) * secondMs;
    if (offset(middleMs) === before) lowMs = middleMs;
    else highMs = middleMs;
  }
  return highMs;
}

function gapsOf(pattern: CronPattern, readings: Moments): CronGaps {
  const [minutes, seconds] = [valuesOf(pattern.minute), valuesOf(pattern.second)];
  const ofDay = valuesOf(pattern.hour).flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => (hour * 60 + minute) * 60 + second)),
  );
  const overNightMs = dayMs + ((ofDay[0] ?? 0) - (ofDay.at(-1) ?? 0)) * secondMs;
  const isEveryDay = pattern.starDOM && pattern.starDOW && !pattern.month.includes(0);
  const gaps = new Set([
    ...ofDay.slice(1).map((second, index) => (second - (ofDay[index] ?? 0)) * secondMs),
    ...(isEveryDay ? [1] : daysApart(readings)).map((days) => (days - 1) * dayMs + overNightMs),
  ]);
  return { shortestMs: Math.min(...gaps), longestMs: Math.max(...gaps) };
}

function valuesOf(field: readonly number[]): readonly number[] {
  return field.flatMap((isNamed, value) => (isNamed ? [value] : []));
}

/** From here until the end the calendar has had each of its forms, the 29th of February on a Sunday too. */
const calendarStartMs = Date.UTC(2000, 0, 1);
const calendarEndMs = Date.UTC(2029, 0, 1);
/** A schedule that occurs more often than on one day in ten shows all its intervals within this time. */
const mostDays = 1_100;

/** How many days lie between those that an expression names. */
function daysApart(readings: Moments): readonly number[] {
  const apart = new Set<number>();
  let atMs = readings.next(calendarStartMs - 1);
  for (let count = 0; atMs !== null && atMs < calendarEndMs && count < mostDays; count += 1) {
    const day = Math.floor(atMs / dayMs);
    atMs = readings.next((day + 1) * dayMs - 1);
    if (atMs !== null) apart.add(Math.floor(atMs / dayMs) - day);
  }
  return [...apart];
}
