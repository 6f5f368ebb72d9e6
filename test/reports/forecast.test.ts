import * as fc from "fast-check";
import { expect, it } from "vitest";
import { forecast, type Week } from "../../src/reports/forecast.ts";

const observed = (share: number): Week => ({ share, observedShare: 1 });
const halfObserved: Week = { share: 0.5, observedShare: 0.7 };
const unobserved: Week = { share: null, observedShare: 0 };

it("a forecast of a steady rise says when the line reaches the threshold, up to twelve weeks ahead", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 12 }),
      fc.integer({ min: 5, max: 30 }),
      fc.double({ min: 0.1, max: 20, noNaN: true }),
      (length, permille, ahead) => {
        const rise = permille / 1_000;
        const weeks = Array.from({ length }, (_, week) => observed(0.1 + rise * week));
        const found = forecast(weeks, 0.1 + rise * (length - 0.5 + ahead));
        const isNear = ahead <= 12;
        const inWeeks: unknown = expect.closeTo(ahead, 6);
        expect(found).toEqual({
          level: weeks.at(-1)?.share,
          risePerWeek: expect.closeTo(rise, 6),
          inWeeks: isNear ? inWeeks : null,
          reason: isNear ? null : "too_far",
          step: null,
          unusual: null,
          weeks: length,
        });
      },
    ),
  );
});

it.each([
  ["too_little", [0.1, 0.2, 0.3].map(observed)],
  ["no_rise", [0.5, 0.5, 0.5, 0.5, 0.5].map(observed)],
  ["no_rise", [0.5, 0.4, 0.3, 0.2].map(observed)],
  ["no_rise", [0.3, 0.4, 0.35, 0.42].map(observed)],
  ["step", [0.3, 0.3, 0.3, 0.55, 0.55, 0.55, 0.55].map(observed)],
  ["recent", [0.3, 0.3, 0.3, 0.55, 0.55, 0.55].map(observed)],
  ["step", [0.6, 0.6, 0.6, 0.3, 0.3, 0.3].map(observed)],
  ["passed_already", [0.6, 0.7, 0.8, 0.95].map(observed)],
  ["passed_already", [0.95].map(observed)],
  ["too_far", [0.1, 0.105, 0.11, 0.115].map(observed)],
  ["too_little", [...[0.1, 0.2, 0.3, 0.4].map(observed), halfObserved]],
  ["too_little", [...[0.1, 0.2, 0.3, 0.4].map(observed), unobserved]],
] as const)("there is no forecast, for %s", (reason, weeks) => {
  expect(forecast(weeks, 0.9)).toMatchObject({ inWeeks: null, reason });
});

it("a rise since a step is forecast from the weeks since", () => {
  const weeks = [0.2, 0.2, 0.2, 0.2, 0.5, 0.52, 0.54, 0.56].map(observed);
  const { step, risePerWeek, inWeeks } = forecast(weeks, 0.8);
  expect(step).toMatchObject({ week: 4, weeks: 4 });
  expect(risePerWeek).toBeCloseTo(0.02);
  expect(inWeeks).toBeCloseTo((0.8 - 0.56) / 0.02 - 0.5);
});

it("weeks that were not observed well are passed over, as long as the last one was", () => {
  const weeks = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7].map(observed);
  const expected = { ...forecast(weeks, 0.9), weeks: 5 };
  const found = forecast(weeks.with(2, halfObserved), 0.9);
  expect(found).toMatchObject({ reason: null, risePerWeek: expect.closeTo(0.1), weeks: 5 });
  expect(found.inWeeks).toBeCloseTo(expected.inWeeks ?? -1);
});
