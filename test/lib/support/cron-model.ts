/**
 * When cron expressions come where clocks are changed, by looking at every single second: slow, and
 * written without what is tested.
 */

/** What the clock of a zone shows at a moment, as milliseconds of the same reading in UTC. */
export function clockReader(timeZone: string): (utcMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (utcMs) => {
    const parts = new Map(format.formatToParts(utcMs).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
    return Date.UTC(
      part("year"),
      part("month") - 1,
      part("day"),
      part("hour"),
      part("minute"),
      part("second"),
    );
  };
}

export interface Transition {
  readonly timeZone: string;
  /** The first moment of the new offset. */
  readonly atMs: number;
  /** By how much the clock jumps: negative where it is set back. */
  readonly jumpMs: number;
}

/** Where the clocks of a zone are changed in a span of time, by hours or parts of them. */
export function transitionsOf(timeZone: string, fromMs: number, toMs: number): Transition[] {
  const read = clockReader(timeZone);
  const offset = (utcMs: number): number => read(utcMs) - utcMs;
  const dayMs = 24 * 3_600_000;
  const found: Transition[] = [];
  for (let dayStartMs = fromMs; dayStartMs < toMs; dayStartMs += dayMs) {
    const before = offset(dayStartMs);
    const after = offset(dayStartMs + dayMs);
    if (before === after) continue;
    let [low, high] = [dayStartMs, dayStartMs + dayMs];
    while (high - low > 1_000) {
      const middle = low + Math.floor((high - low) / 2_000) * 1_000;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    found.push({ timeZone, atMs: high, jumpMs: after - before });
  }
  return found;
}

/** Values of the fields; days of the month and of the week are left open. */
export interface PlainTimes {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
}

/** The moments from one to another, both included. */
export function momentsOf(
  { seconds, minutes, hours }: PlainTimes,
  { timeZone, atMs, jumpMs }: Transition,
  fromMs: number,
  toMs: number,
): number[] {
  const read = clockReader(timeZone);
  const offsetBeforeMs = read(atMs - 1_000) - (atMs - 1_000);
  const offsetAfterMs = read(atMs) - atMs;
  const fits = (clockMs: number): boolean => {
    const clock = new Date(clockMs);
    return (
      seconds.includes(clock.getUTCSeconds()) &&
      minutes.includes(clock.getUTCMinutes()) &&
      hours.includes(clock.getUTCHours())
    );
  };
  const namesHours = hours.length < 24;
  const isOften = seconds.length * minutes.length > 1;
  const showedBefore = (clockMs: number): boolean => clockMs - offsetBeforeMs < atMs;
  const isMissing = (): boolean => {
    for (let ms = atMs + offsetBeforeMs; ms < atMs + offsetAfterMs; ms += 1_000) {
      if (fits(ms)) return true;
    }
    return false;
  };
  const moments: number[] = [];
  for (let ms = fromMs; ms <= toMs; ms += 1_000) {
    const clockMs = ms + (ms < atMs ? offsetBeforeMs : offsetAfterMs);
    const isRepeat = jumpMs < 0 && ms >= atMs && showedBefore(clockMs);
    const isOnce = namesHours && !isOften;
    if (fits(clockMs) && !(isRepeat && isOnce)) moments.push(ms);
    else if (ms === atMs && jumpMs > 0 && namesHours && isMissing()) moments.push(ms);
  }
  return moments;
}
