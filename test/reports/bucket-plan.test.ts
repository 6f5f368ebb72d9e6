import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TimeField } from "../../src/reports/report-fields.ts";
import { planReport } from "../../src/reports/bucket-plan.ts";
import { openZone, utc, type Zone } from "../../src/reports/zone.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const nowMs = Date.parse("2026-11-22T09:41:00Z");
const all = { "5m": -Infinity, "15m": Infinity, "1h": -Infinity, "1d": -Infinity };

const zones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"];

describe("the cells of a report", () => {
  it("since any moment are the last of all of them", () => {
    const property = fc.property(
      fc.record({
        zoneName: fc.constantFrom(...zones),
        fields: fc.constantFrom<(readonly TimeField[])[]>(["hour"], ["day"], ["weekday"], []),
        // Also over the day that a zone skipped, at the end of 2011.
        fromMs: fc.integer({ min: Date.parse("2011-12-20Z"), max: Date.parse("2012-04-10Z") }),
        days: fc.integer({ min: 1, max: 40 }),
        since: fc.double({ min: 0, max: 1, noNaN: true }),
        hoursKept: fc.integer({ min: 0, max: 40 * 24 }),
        quartersKept: fc.constantFrom(0, 7 * dayMs, Infinity),
        daysKept: fc.integer({ min: 0, max: 40 }),
      }),
      ({ zoneName, fields, fromMs, days, since, hoursKept, quartersKept, daysKept }) => {
        const zone = openZone(zoneName) ?? utc;
        const keptFrom = {
          "5m": fromMs + hoursKept * hourMs,
          "15m": fromMs + quartersKept,
          "1h": fromMs + daysKept * dayMs,
          "1d": -Infinity,
        };
        const range = { fromMs, toMs: fromMs + days * dayMs };
        const request = { range, fields, zone, keptFrom, begunMs: fromMs };
        const plan = planReport(request);
        const cells = [...plan.cellsSince(plan.range.fromMs)];
        const sinceMs = cells[Math.floor(since * (cells.length - 1))]?.fromMs ?? 0;
        expect([...plan.cellsSince(sinceMs)]).toEqual(cells.filter(({ toMs }) => toMs > sinceMs));
      },
    );
    fc.assert(property, { numRuns: 100 });
  });
});

it("a range is planned from where the history begins, however long before that it does", () => {
  let asked = 0;
  const berlin = openZone("Europe/Berlin") ?? utc;
  const zone: Zone = {
    name: berlin.name,
    offsetMs(utcMs) {
      asked += 1;
      return berlin.offsetMs(utcMs);
    },
  };
  const range = { fromMs: Date.parse("1971-01-01Z"), toMs: nowMs };
  const begunMs = nowMs - 2 * dayMs;
  const plan = planReport({ range, fields: ["hour"], zone, keptFrom: all, begunMs });
  expect(plan.bucketRanges.at(-1)?.toMs).toBe(nowMs + 4 * 60_000);
  const [last] = plan.cellsSince(nowMs);
  expect(last?.labels).toEqual({ hour: "2026-11-22T10:00+01:00" });
  expect(asked).toBeLessThan(2_000);
});

describe("a note of a report", () => {
  const fromMs = Date.parse("2026-11-01T00:00Z");
  const minuteMs = 60_000;
  const notesOf = (range: { fromMs: number; toMs: number }, keptFrom: typeof all) =>
    planReport({ range, fields: [], zone: utc, keptFrom, begunMs: fromMs - dayMs }).notes;

  it("says that history is kept since later than the range begins, not since just then", () => {
    const kept = { "5m": fromMs, "15m": Infinity, "1h": fromMs, "1d": fromMs };
    const range = { fromMs, toMs: fromMs + dayMs };
    expect(notesOf(range, kept)).toEqual([]);
    const earlier = { ...range, fromMs: fromMs - dayMs };
    expect(notesOf(earlier, kept)).toEqual([expect.stringContaining("History is kept since")]);
  });

  it("says that the range is widened by five minutes or more", () => {
    const kept = { ...all, "5m": fromMs + dayMs };
    const notesFrom = (minutes: number) =>
      notesOf({ fromMs: fromMs + minutes * minuteMs, toMs: fromMs + dayMs }, kept);
    expect(notesFrom(4)).toEqual([]);
    expect(notesFrom(5)).toEqual([expect.stringContaining("Nothing finer is kept")]);
  });
});
