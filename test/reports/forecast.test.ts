import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forecast, type Forecast, type Week } from "../../src/reports/forecast.ts";

const weeksUntil = (told: Forecast): number =>
  told.kind === "passes" ? told.inWeeks : Number.POSITIVE_INFINITY;

const watched = (occupiedShare: number): Week => ({ occupiedShare, observedShare: 1 });

describe("a forecast", () => {
  it("of a steady rise says when the line passes the threshold", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 12 }),
        fc.integer({ min: 5, max: 30 }),
        fc.integer({ min: 1, max: 3 }),
        (length, percentAWeek, ahead) => {
          const rise = percentAWeek / 1_000;
          const weeks = Array.from({ length }, (_, week) => watched(0.1 + rise * week));
          const threshold = 0.1 + rise * (length - 0.5 + ahead);
          const told = forecast(weeks, threshold);
          expect(Math.abs(weeksUntil(told) - ahead)).toBeLessThan(1e-6);
        },
      ),
    );
  });

  it("looks as far ahead as back, and no further", () => {
    const [length, rise] = [8, 0.01];
    const weeks = Array.from({ length }, (_, week) => watched(0.1 + rise * week));
    const passing = (ahead: number): number => 0.1 + rise * (length - 0.5 + ahead);
    expect(forecast(weeks, passing(length - 0.1))).toMatchObject({ kind: "passes" });
    const tooFar = { kind: "none", reason: "too_far" };
    expect(forecast(weeks, passing(length + 0.1))).toEqual(tooFar);
  });

  it.each([
    ["too_little", [0.1, 0.2, 0.3].map(watched), 0.9],
    ["no_rise", [0.5, 0.5, 0.5, 0.5, 0.5].map(watched), 0.9],
    ["no_rise", [0.5, 0.4, 0.3, 0.2].map(watched), 0.9],
    ["no_rise", [0.3, 0.4, 0.35, 0.42].map(watched), 0.9],
    ["passed_already", [0.6, 0.7, 0.8, 0.95].map(watched), 0.9],
    ["too_far", [0.1, 0.101, 0.102, 0.103].map(watched), 0.9],
    [
      "too_little",
      [...[0.1, 0.2, 0.3, 0.4].map(watched), { occupiedShare: 0.5, observedShare: 0.7 }],
      0.9,
    ],
    [
      "too_little",
      [...[0.1, 0.2, 0.3, 0.4].map(watched), { occupiedShare: null, observedShare: 0 }],
      0.9,
    ],
  ] as const)("is none, for %s", (reason, weeks, threshold) => {
    expect(forecast(weeks, threshold)).toEqual({ kind: "none", reason });
  });

  it("of noise alone is made at most once in twenty times", () => {
    // Every order of so many values: none is likelier than another.
    for (const length of [4, 5, 6]) {
      const orders = permutations(Array.from({ length }, (_, index) => 0.4 + index / 100));
      const made = orders.filter((each) => forecast(each.map(watched), 0.46).kind === "passes");
      expect(made.length / orders.length).toBeLessThanOrEqual(0.05);
    }
  });
});

function permutations(values: readonly number[]): number[][] {
  if (values.length === 0) return [[]];
  return values.flatMap((value, at) =>
    permutations(values.toSpliced(at, 1)).map((rest) => [value, ...rest]),
  );
}
