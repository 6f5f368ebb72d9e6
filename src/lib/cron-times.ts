import { Cron } from "croner";
import { readCronFields } from "./cron-fields.ts";
import type { CronFields } from "./cron-fields.ts";
import { firstChange, isTimeZone, lastChange, zoneOffset } from "./zone-offset.ts";

/** The moments that a cron expression names in a time zone, found from any moment. UTC milliseconds. */
export interface CronTimes {
  /** The last one at or before a moment; null: there was none. */
  readonly latest: (atMs: number) => number | null;
  /** The first one after a moment; null: there is none. */
  readonly next: (afterMs: number) => number | null;
  /**
   * How far apart its moments usually are, wherever in it one looks: the same whatever the time is,
   * and without the hour that a change of the clocks adds or takes. Milliseconds.
   */
  readonly gaps: CronGaps;
}

export interface CronGaps {
  readonly shortestMs: number;
  readonly longestMs: number;
}

/**
 * The only place that knows when a cron expression comes: polls, probes and maintenance windows ask
 * here. node-cron, which starts the polls, is not right where clocks are changed (see
 * `wakeByNodeCron`). croner has rules of its own for missing and repeated hours, and drops what
 * lies in a missing hour before midnight; so it is asked in UTC for the readings of a clock, and
 * what moments they are is decided here:
 *
 * - An expression for every hour comes whenever the zone's clock fits it.
 * - One for certain hours also comes at the end of a missing hour, if it names a time in that hour.
 * - One for a single time in certain hours comes once in a repeated hour, at the first of the two.
 *   With more times in an hour it comes in both: what comes that often must not pause for an hour.
 *
 * @param expression as `readCronFields` takes it
 * @returns undefined when the expression or the time zone is none
 */
export function parseCronTimes(expression: string, timeZone: string): CronTimes | undefined {
  const read = readCronFields(expression);
  if (read.kind === "wrong") return undefined;
  const { fields } = read;
  const offset = isTimeZone(timeZone) ? zoneOffset(timeZone) : undefined;
  if (!offset) return undefined;
  const readings = clockReadings(fields);
  const namesHours = fields.hours.length < 24;
  const isOnce = namesHours && fields.minutes.length * fields.seconds.length === 1;
  let gaps: CronGaps | undefined;

  const isRepeated = (atMs: number): boolean => {
    const changedMs = lastChange(offset, atMs - dayMs, atMs);
    return changedMs !== null && atMs + offset(atMs) < changedMs + offset(changedMs - 1);
  };
  /** Whether a missing hour ends at a moment, and the expression names a time in that hour. */
  const endsMissing = (atMs: number): boolean => {
    if (!namesHours) return false;
    const firstMissingMs = atMs + offset(atMs - 1);
    return (readings.next(firstMissingMs - 1) ?? Infinity) < atMs + offset(atMs);
  };

  return {
    latest(atMs) {
      let untilMs = Math.floor(atMs);
      for (;;) {
        const offsetMs = offset(untilMs);
        const reading = readings.latest(untilMs + offsetMs);
        if (reading === null) return null;
        const foundMs = reading - offsetMs;
        const changedMs = lastChange(offset, foundMs, untilMs);
        if (changedMs === null) {
          if (!isOnce || !isRepeated(foundMs)) return foundMs;
          untilMs = foundMs - 1;
        } else {
          if (endsMissing(changedMs)) return changedMs;
          untilMs = changedMs - 1;
        }
      }
    },
    next(afterMs) {
      let fromMs = Math.floor(afterMs) + 1;
      for (;;) {
        if (endsMissing(fromMs)) return fromMs;
        const offsetMs = offset(fromMs);
        const reading = readings.next(fromMs + offsetMs - 1);
        if (reading === null) return null;
        const foundMs = reading - offsetMs;
        const changedMs = firstChange(offset, fromMs, foundMs);
        if (changedMs === null) {
          if (!isOnce || !isRepeated(foundMs)) return foundMs;
          fromMs = foundMs + 1;
        } else {
          fromMs = changedMs;
        }
      }
    },
    get gaps() {
      gaps ??= gapsOf(fields);
      return gaps;
    },
  };
}

/** What a clock without changes shows at the moments of an expression, as moments of UTC. */
function clockReadings({ seconds, minutes, hours, days }: CronFields) {
  const written = `${seconds.join()} ${minutes.join()} ${hours.join()} ${days}`;
  const cron = new Cron(written, { timezone: "UTC", paused: true });
  return {
    latest: (atMs: number) => cron.previousRuns(1, new Date(atMs + 1))[0]?.getTime() ?? null,
    next: (afterMs: number) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
  };
}

const secondMs = 1_000;
const daySeconds = 24 * 60 * 60;
const dayMs = daySeconds * secondMs;

function gapsOf({ seconds, minutes, hours, days, everyDay }: CronFields): CronGaps {
  const ofDay = hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => (hour * 60 + minute) * 60 + second)),
  );
  const overNight = daySeconds + (ofDay[0] ?? 0) - (ofDay.at(-1) ?? 0);
  let shortest = Infinity;
  let longest = 0;
  const add = (gap: number): void => {
    shortest = Math.min(shortest, gap);
    longest = Math.max(longest, gap);
  };
  for (let index = 1; index < ofDay.length; index += 1) {
    add((ofDay[index] ?? 0) - (ofDay[index - 1] ?? 0));
  }
  for (const apart of everyDay ? [1] : daysApart(days)) {
    add((apart - 1) * daySeconds + overNight);
  }
  return { shortestMs: shortest * secondMs, longestMs: longest * secondMs };
}

/** From here until the end the calendar has had each of its forms, the 29th of February on a Sunday too. */
const calendarStartMs = Date.UTC(2000, 0, 1);
const calendarEndMs = Date.UTC(2029, 0, 1);
/** What comes more often than on one day in ten shows all its distances long before the end. */
const mostDays = 1_100;

/** How many days lie between those that an expression names. */
function daysApart(days: string): ReadonlySet<number> {
  const cron = new Cron(`0 0 0 ${days}`, { timezone: "UTC", paused: true });
  const apart = new Set<number>();
  let day = cron.nextRun(new Date(calendarStartMs));
  for (let count = 0; day && count < mostDays; count += 1) {
    const next = cron.nextRun(day);
    if (next) apart.add((next.getTime() - day.getTime()) / dayMs);
    if (day.getTime() > calendarEndMs) break;
    day = next;
  }
  return apart;
}
