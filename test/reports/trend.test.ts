import * as fc from "fast-check";
import { expect, it } from "vitest";
import { seededRandom, type Random } from "../../src/lib/random.ts";
import { chanceOf, trendOf, type Point } from "../../src/reports/trend.ts";

function pointsOf(weeks: number, valueAt: (week: number) => number): readonly Point[] {
  return Array.from({ length: weeks }, (_, week) => ({ week, value: valueAt(week) }));
}

/** Of mean 0 and deviation 1. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

it("chances of Student's t are those of tables, for 1 to 10 degrees of freedom", () => {
  const critical = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
  for (const [index, t] of critical.entries()) {
    expect(chanceOf(t, index + 1)).toBeCloseTo(0.05, 4);
    expect(chanceOf(-t, index + 1)).toBeCloseTo(0.05, 4);
  }
  expect(chanceOf(0, 5)).toBe(1);
});

it.each([
  ["of noise alone", 7, 0],
  // In all weeks together it rises by a fifth of the deviation of a single one.
  ["of a line that rises by less than the noise of its weeks", 8, 0.008],
])(
  "in at most 5 of 100 histories %s a line, a step or an unusual week is claimed",
  (_, seed, rise) => {
    const random = seededRandom(seed);
    for (const weeks of [4, 5, 6, 8, 12]) {
      const claims = Array.from({ length: 1_000 }, () =>
        trendOf(
          pointsOf(weeks, (week) => 0.5 + (rise * week) / (weeks - 1) + 0.04 * normal(random)),
          0,
        ),
      ).filter(({ kind, unusual }) => kind !== "flat" || unusual);
      expect(claims.length / 1_000, `${weeks} weeks`).toBeLessThanOrEqual(0.05);
    }
  },
);

it("a line, a step and an unusual week are found in at least 9 of 10 histories of 8 weeks", () => {
  const random = seededRandom(9);
  const found = (
    valueAt: (week: number) => number,
    isFound: (trend: ReturnType<typeof trendOf>) => boolean,
  ) => {
    const trends = Array.from({ length: 300 }, () =>
      trendOf(
        pointsOf(8, (week) => valueAt(week) + 0.01 * normal(random)),
        0,
      ),
    );
    return trends.filter(isFound).length / trends.length;
  };
  expect(
    found(
      (week) => 0.3 + 0.02 * week,
      ({ kind }) => kind === "line",
    ),
  ).toBeGreaterThan(0.9);
  expect(
    found(
      (week) => (week < 5 ? 0.3 : 0.55),
      (trend) => trend.kind === "step" && trend.week === 5,
    ),
  ).toBeGreaterThan(0.9);
  expect(
    found(
      (week) => (week === 3 ? 0.6 : 0.3),
      ({ kind, unusual }) => kind === "flat" && unusual?.week === 3,
    ),
  ).toBeGreaterThan(0.9);
});

it("a step and a line are never taken for each other where nothing else happens, also across missing weeks", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 6, max: 12 }),
      fc.integer({ min: 3, max: 10 }),
      fc.double({ min: 0.06, max: 0.5, noNaN: true }),
      fc.boolean(),
      (weeks, at, size, isMissing) => {
        const week = Math.min(at, weeks - 3);
        const without = isMissing ? week - 2 : -1;
        const known = (points: readonly Point[]) =>
          points.filter((point) => point.week !== without);
        const step = trendOf(known(pointsOf(weeks, (each) => (each < week ? 0.1 : 0.1 + size))), 0);
        expect(step).toMatchObject({ kind: "step", week });
        const line = trendOf(known(pointsOf(weeks, (each) => 0.1 + size * each)), 0);
        expect(line).toMatchObject({ kind: "line", perWeek: expect.closeTo(size, 6) });
      },
    ),
  );
});

it("two weeks with one more server are no step in a pool of few", () => {
  const peaks = [8, 8, 8, 8, 9, 9];
  const shares = pointsOf(peaks.length, (week) => (peaks[week] ?? 0) / 10);
  expect(trendOf(shares, 0.1).kind).toBe("flat");
  expect(trendOf(shares, 0).kind).toBe("step");
});

it("a difference of a single server is not unusual in a pool of few", () => {
  const peaks = [8, 8, 9, 8, 8, 8, 8, 8];
  const shares = pointsOf(peaks.length, (week) => (peaks[week] ?? 0) / 10);
  expect(trendOf(shares, 0.1)).toEqual({ kind: "flat", unusual: null });
  expect(trendOf(shares, 0).unusual).toMatchObject({ week: 2 });
});
