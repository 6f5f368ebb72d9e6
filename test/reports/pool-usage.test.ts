import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UsageSums, type PoolCell, type Usage } from "../../src/reports/pool-usage.ts";

const minute = 60_000;
const hourMs = 60 * minute;
const startMs = Date.UTC(2026, 8, 7);

function usageOf(cells: readonly (readonly [noIdleMinutes: number, peak: number | null])[]): Usage {
  const sums = new UsageSums();
  for (const [index, [minutes, occupiedPeak]] of cells.entries()) {
    const fromMs = startMs + index * hourMs;
    const observedMs = occupiedPeak === null ? 0 : hourMs;
    const cell: PoolCell = {
      fromMs,
      toMs: fromMs + hourMs,
      observedMs,
      noIdleMs: minutes * minute,
      occupiedPeak,
    };
    sums.add(cell);
  }
  return sums.result();
}

describe("the use of a pool in a range", () => {
  it("has the peak, the time without an idle server and its longest stretch, with when they were", () => {
    const usage = usageOf([
      [0, 3],
      [20, 5],
      [60, 5],
      [10, 5],
      [50, 5],
      [0, null],
      [55, 5],
      [0, 4],
    ]);
    expect(usage.peak).toEqual({ count: 5, fromMs: startMs + hourMs, toMs: startMs + 2 * hourMs });
    expect(usage.noIdleMs).toBe(195 * minute);
    expect(usage.observedMs).toBe(7 * hourMs);
    // In the fourth hour a server was idle in between, and the sixth was unobserved.
    expect(usage.longestNoIdle).toEqual({ fromMs: startMs + hourMs, ms: 90 * minute });
    expect(usageOf([[0, null]])).toMatchObject({ peak: null, longestNoIdle: null, needed: null });
  });

  it("is such that the number that was enough covers 99 % of the hours, and one less does not", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 300 }),
        (peaks) => {
          const { needed } = usageOf(peaks.map((peak) => [0, peak]));
          const covered = (servers: number) =>
            peaks.filter((peak) => peak <= servers).length / peaks.length;
          expect(covered(needed?.servers ?? -1)).toBeGreaterThanOrEqual(0.99);
          expect(covered((needed?.servers ?? 0) - 1)).toBeLessThan(0.99);
        },
      ),
    );
  });
});
