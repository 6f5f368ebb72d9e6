import { describe, expect, it } from "vitest";
import { parseCronTimes } from "../../src/lib/cron-times.ts";
import type { CronTimes } from "../../src/lib/cron-times.ts";

function times(expression: string, timeZone = "Europe/Berlin"): CronTimes {
  const parsed = parseCronTimes(expression, timeZone);
  if (!parsed) throw new Error(`${expression} in ${timeZone} was refused`);
  return parsed;
}

function utc(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

describe("the moments of a cron expression", () => {
  it("are those of its time zone, summer and winter", () => {
    const { next } = times("0 2 * * SUN");
    expect(utc(next(Date.UTC(2026, 6, 1)))).toBe("2026-07-05T00:00:00.000Z");
    expect(utc(next(Date.UTC(2026, 11, 1)))).toBe("2026-12-06T01:00:00.000Z");
  });

  it("count a moment itself as the latest, and not as the next", () => {
    const { latest, next } = times("0 2 * * *", "UTC");
    const atMs = Date.UTC(2026, 10, 20, 2);
    expect(latest(atMs)).toBe(atMs);
    expect(utc(latest(atMs - 1))).toBe("2026-11-19T02:00:00.000Z");
    expect(utc(next(atMs))).toBe("2026-11-21T02:00:00.000Z");
  });

  it("come at the end of the hour that is missing where clocks are set forward", () => {
    const { next } = times("30 2 * * *");
    expect(utc(next(Date.UTC(2026, 2, 28, 12)))).toBe("2026-03-29T01:00:00.000Z");
    expect(utc(next(Date.UTC(2026, 2, 29, 12)))).toBe("2026-03-30T00:30:00.000Z");
  });

  it("come once, at the first of the two, where clocks are set back", () => {
    const { latest, next } = times("30 2 * * *");
    const first = next(Date.UTC(2026, 9, 24, 12));
    expect(utc(first)).toBe("2026-10-25T00:30:00.000Z");
    expect(utc(next(first ?? 0))).toBe("2026-10-26T01:30:00.000Z");
    expect(latest(Date.UTC(2026, 9, 25, 1, 45))).toBe(first);
  });

  it.each([
    ["30 2 * * *", "Europe/Berlin"],
    ["*/20 * * * *", "Australia/Lord_Howe"],
    ["0 1-3 * * *", "America/New_York"],
  ])("are the same looked at from before and from after: %s in %s", (expression, timeZone) => {
    const { latest, next } = times(expression, timeZone);
    for (const day of [Date.UTC(2026, 2, 29), Date.UTC(2026, 9, 25), Date.UTC(2026, 9, 4)]) {
      let start = next(day - 86_400_000) ?? 0;
      for (let atMs = start; atMs < day + 86_400_000; atMs += 20 * 60_000) {
        for (let ahead = next(start); ahead !== null && ahead <= atMs; ahead = next(start)) {
          start = ahead;
        }
        expect([utc(atMs), utc(latest(atMs))]).toEqual([utc(atMs), utc(start)]);
      }
    }
  });

  it("are none of a day that no year has", () => {
    const { latest, next } = times("0 0 31 2 *");
    expect([latest(Date.UTC(2026, 0)), next(Date.UTC(2026, 0))]).toEqual([null, null]);
  });

  it.each([
    ["", "UTC"],
    ["0 2 * *", "UTC"],
    ["0 25 * * *", "UTC"],
    ["0 0 2 * * SUN 2020", "UTC"],
    ["2026-11-20T00:00:00Z", "UTC"],
    ["0 2 * * *", "Europe/Berlim"],
  ])("are not read out of %j in %s", (expression, timeZone) => {
    expect(parseCronTimes(expression, timeZone)).toBeUndefined();
  });
});
