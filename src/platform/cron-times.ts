import { Cron } from "croner";

/** The moments that a cron expression names in a time zone, found from any moment. UTC milliseconds. */
export interface CronTimes {
  /** The last one at or before a moment; null: there was none. */
  readonly latest: (atMs: number) => number | null;
  /** The first one after a moment; null: there is none. */
  readonly next: (afterMs: number) => number | null;
}

/** Without a field for years, so that what comes once comes again. */
const fieldCounts: ReadonlySet<number> = new Set([5, 6]);

/**
 * Where clocks are set forward, what lies in the hour that is missing comes at its end; where they
 * are set back, what names an hour comes once, at the first of the two.
 *
 * @param expression five fields, or six with seconds first
 * @returns undefined when the expression or the time zone is none
 */
export function parseCronTimes(expression: string, timeZone: string): CronTimes | undefined {
  if (!fieldCounts.has(expression.trim().split(/\s+/).length)) return undefined;
  try {
    const cron = new Cron(expression, { timezone: timeZone, paused: true });
    // An unknown time zone is found out only now.
    cron.nextRun(new Date(0));
    return {
      // The moment itself does not count as one before it.
      latest: (atMs) => cron.previousRuns(1, new Date(Math.floor(atMs) + 1))[0]?.getTime() ?? null,
      next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
    };
  } catch {
    return undefined;
  }
}
