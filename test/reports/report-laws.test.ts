import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketsIn } from "../support/collect.ts";
import { type ReportRow, sharesOf } from "../../src/reports/report-rows.ts";
import type { ReportSources } from "../../src/reports/report-sources.ts";
import type { TimeRange } from "../../src/reports/time-range.ts";
import { moves, play } from "./support/random-history.ts";
import { addUp, reportOf } from "./support/report.ts";

const startMs = Date.parse("2026-10-24T19:03:20Z");
const runs = { numRuns: 8 };

const groupings = [
  "region",
  "key",
  "region,key",
  "server_name",
  "region,key,server_name",
  "hour",
  "day",
  "weekday",
  "hour,region",
  "day,server_name",
  "weekday,hour,key",
];
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu"];

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

describe("whatever happened", () => {
  it("rows add up to the same total by any fields, and the shares of each to one", async () => {
    await fc.assert(
      fc.asyncProperty(
        moves,
        fc.constantFrom(...groupings),
        fc.constantFrom(...zones),
        fc.nat(2 * 86_400_000),
        async (moved, by, tz, leadMs) => {
          const { history, endMs } = play(moved, startMs);
          const range = { from: iso(startMs - leadMs), to: iso(endMs + 1) };
          const whole = addUp((await reportOf(history, { ...range, by: "" })).rows);
          const { rows } = await reportOf(history, { ...range, by, tz });
          const parts = addUp(rows);
          for (const [name, value] of Object.entries(whole)) {
            expect(parts[name]).toBeCloseTo(value, 1);
          }
          for (const shares of rows.map(sharesOf).filter((each) => each !== null)) {
            const sum = Object.values(shares).reduce((total, share) => total + share, 0);
            expect(sum).toBeCloseTo(1, 9);
          }
        },
      ),
      runs,
    );
  });

  it("the exact peak of several targets is between the highest of one and the sum of buckets", async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.constantFrom("", "server_name"), async (moved, by) => {
        const { history, endMs } = play(moved, startMs);
        const range = { from: iso(startMs), to: iso(endMs + 1) };
        const peaksOf = async (fields: string) => {
          const { rows } = await reportOf(history, { ...range, by: fields });
          return Map.groupBy(rows, ({ group }) => group.server_name ?? "");
        };
        const highest = (rows: readonly ReportRow[] = []): number =>
          Math.max(0, ...rows.map(({ occupiedPeak }) => occupiedPeak?.count ?? 0));
        const single = await peaksOf(`region,key,${by}`);
        const bounds = await peaksOf(`weekday,${by}`);
        for (const [name, [row]] of await peaksOf(by)) {
          const { count, isExact } = row?.occupiedPeak ?? { count: 0, isExact: true };
          expect(isExact).toBe(true);
          expect(count).toBeGreaterThanOrEqual(highest(single.get(name)));
          expect(count).toBeLessThanOrEqual(highest(bounds.get(name)));
          expect(row?.serversPeak ?? 0).toBeGreaterThanOrEqual(count);
        }
      }),
      runs,
    );
  });

  it("single servers add up to what was recorded of all, to the millisecond", async () => {
    await fc.assert(
      fc.asyncProperty(
        moves,
        fc.constantFrom("server", "sandbox", "server_name,sandbox"),
        fc.nat(100),
        fc.nat(100),
        async (moved, by, first, second) => {
          const { history, endMs } = play(moved, startMs);
          const [low, high] = [Math.min(first, second), Math.max(first, second)];
          const at = (percent: number): string => {
            const ms = startMs + ((endMs - startMs) * percent) / 100;
            return iso(Math.floor(ms / 300_000) * 300_000);
          };
          const from = at(low);
          const to = high === 100 ? iso(endMs + 1) : at(high);
          if (from >= to) return;
          const asked = { from, to, now: iso(endMs + 1) };
          const recorded = await reportOf(history, { ...asked, by: "region,key" });
          const single = await reportOf(history, { ...asked, by });
          const { unobserved: _, ...watched } = addUp(recorded.rows);
          const { unobserved, ...followed } = addUp(single.rows);
          expect(followed).toEqual(watched);
          // Time of which nothing is known is of no server.
          const range = { fromMs: Date.parse(from), toMs: Date.parse(to) };
          expect(unobserved).toBe(await bookedUnobservedMs(history, range));
        },
      ),
      { numRuns: 12 },
    );
  });
});

async function bookedUnobservedMs({ occupancy }: ReportSources, range: TimeRange): Promise<number> {
  let sumMs = 0;
  for (const { bucket } of await bucketsIn(occupancy, { resolution: "5m", ...range })) {
    for (const { unobservedMs } of bucket.names.values()) sumMs += unobservedMs;
  }
  return sumMs;
}
