import { describe, expect, it } from "vitest";
import { isRangeFault, readTimeRange } from "../../src/reports/time-range.ts";
import { openZone } from "../../src/reports/zone.ts";

/** A Friday. */
const nowMs = Date.parse("2026-11-20T09:30:00Z");

function read(from: string, to?: string, tz = "UTC", now = nowMs): string {
  const zone = openZone(tz);
  if (!zone) throw new Error(`no zone ${tz}`);
  const range = readTimeRange({ from, to }, { nowMs: now, zone });
  if (isRangeFault(range)) return `${range.field}: ${range.allowed}`;
  const text = (ms: number): string => new Date(ms).toISOString().replace(/:00\.000Z$/, "Z");
  return `${text(range.fromMs)} ${text(range.toMs)}`;
}

describe("a range of times", () => {
  it.each([
    ["2026-11-01", undefined, "2026-11-01T00:00Z 2026-11-20T09:30Z"],
    ["2026-11-01T10:00+02:00", "2026-11-02", "2026-11-01T08:00Z 2026-11-02T00:00Z"],
    ["2026-11-01 10:00z", "now", "2026-11-01T10:00Z 2026-11-20T09:30Z"],
    ["7d", undefined, "2026-11-13T09:30Z 2026-11-20T09:30Z"],
    ["12h ago", "1h30m", "2026-11-19T21:30Z 2026-11-20T08:00Z"],
    ["today", undefined, "2026-11-20T00:00Z 2026-11-20T09:30Z"],
    ["yesterday", undefined, "2026-11-19T00:00Z 2026-11-20T00:00Z"],
    ["last week", undefined, "2026-11-09T00:00Z 2026-11-16T00:00Z"],
    ["Last-Month", undefined, "2026-10-01T00:00Z 2026-11-01T00:00Z"],
    ["this_month", "yesterday", "2026-11-01T00:00Z 2026-11-19T00:00Z"],
    ["2028-02-29", "2028-03-01", "2028-02-29T00:00Z 2028-03-01T00:00Z"],
  ])("from %s to %s is %s", (from, to, expected) => {
    expect(read(from, to)).toBe(expected);
  });

  it.each([
    ["Europe/Berlin", "yesterday", "2026-11-18T23:00Z 2026-11-19T23:00Z"],
    ["America/New_York", "today", "2026-11-20T05:00Z 2026-11-20T09:30Z"],
    ["Asia/Kathmandu", "2026-11-01", "2026-10-31T18:15Z 2026-11-20T09:30Z"],
    ["+05:30", "2026-11-01T00:00", "2026-10-31T18:30Z 2026-11-20T09:30Z"],
    ["Europe/Berlin", "last month", "2026-09-30T22:00Z 2026-10-31T23:00Z"],
  ])("is in the zone %s: %s", (tz, from, expected) => {
    expect(read(from, undefined, tz)).toBe(expected);
  });

  it("takes the first of two equal times, and what a clock skips for as much later", () => {
    const back = read("2026-10-25T02:30", "2026-10-25T03:00", "Europe/Berlin");
    expect(back).toBe("2026-10-25T00:30Z 2026-10-25T02:00Z");
    const forward = read("2026-03-29T02:30", "2026-03-29T04:00", "Europe/Berlin");
    expect(forward).toBe("2026-03-29T01:30Z 2026-03-29T02:00Z");
  });

  it.each([
    ["2026-11-02", "2026-11-01", /^to: a time after from/],
    ["2026-11-01", "2026-11-01", /^to: a time after from/],
    ["2026-12-01", undefined, /^from: a time before now/],
    ["2026-02-30", undefined, /^from: a time such as/],
    ["2026-02-28T25:00", undefined, /^from: a time such as/],
    ["soon", undefined, /^from: a time such as/],
    ["", undefined, /^from: a time such as/],
    ["7d", "then", /^to: a time such as/],
    ["1969-12-31", undefined, /^from: a time such as/],
    ["99999999999999d", undefined, /^from: a time such as/],
  ])("from %s to %s is none", (from, to, expected) => {
    expect(read(from, to)).toMatch(expected);
  });

  it("has no zone that there is not", () => {
    expect(openZone("Europe/Atlantis")).toBeUndefined();
    expect(openZone("utc")?.name).toBe("UTC");
  });
});
