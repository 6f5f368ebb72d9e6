/** How far the clock of a time zone is ahead of UTC. Milliseconds. */
export type ZoneOffset = (utcMs: number) => number;

/** The usual name of a zone, or of a fixed offset such as `+05:30`; null: there is no such zone. */
export function canonicalTimeZone(name: string): string | null {
  // The default of most settings: a format would cost a fifth of reading a configuration.
  if (name === "UTC") return name;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** Also older names for zones, which `Intl.supportedValuesOf` does not list. */
export function isTimeZone(name: string): boolean {
  // An offset such as +01:00 is taken too, but would be wrong for half of the year.
  return /^[A-Za-z]/.test(name) && canonicalTimeZone(name) !== null;
}

/** @throws {RangeError} when there is no such time zone */
export function zoneOffset(timeZone: string): ZoneOffset {
  if (timeZone === "UTC") return () => 0;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "iso8601",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (utcMs) => {
    const secondMs = Math.floor(utcMs / 1_000) * 1_000;
    const shown: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(secondMs)) shown[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
    return Date.UTC(year, month - 1, day, hour, minute, second) - secondMs;
  };
}

const hourMs = 60 * 60_000;
/** Clocks are set at most a few times a year. */
const sampleMs = 14 * 24 * hourMs;

/** Whether the hours of a zone are those of UTC, in all of a range. UTC milliseconds. */
export function hasHoursOfUtc(offset: ZoneOffset, fromMs: number, toMs: number): boolean {
  for (let atMs = fromMs; atMs < toMs; atMs += sampleMs) {
    if (offset(atMs) % hourMs !== 0) return false;
  }
  return offset(toMs) % hourMs === 0;
}
