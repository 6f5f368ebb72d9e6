import * as fc from "fast-check";
import { expect, it } from "vitest";
import { emptyAccount, emptyBucket } from "../../src/fleet/buckets.ts";
import { noneByStatus } from "../../src/fleet/tallies.ts";
import { dayMs, forecast, readWeeks, weekMs, type Week } from "../../src/reports/forecast.ts";
import { research } from "./support/polls-alike.ts";

const observed = (occupiedShare: number): Week => ({ occupiedShare, observedShare: 1 });

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
          level: weeks.at(-1)?.occupiedShare,
          risePerWeek: expect.closeTo(rise, 6),
          inWeeks: isNear ? inWeeks : null,
          reason: isNear ? null : "too_far",
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
  ["passed_already", [0.6, 0.7, 0.8, 0.95].map(observed)],
  ["too_far", [0.1, 0.101, 0.102, 0.103].map(observed)],
  [
    "too_little",
    [...[0.1, 0.2, 0.3, 0.4].map(observed), { occupiedShare: 0.5, observedShare: 0.7 }],
  ],
  [
    "too_little",
    [...[0.1, 0.2, 0.3, 0.4].map(observed), { occupiedShare: null, observedShare: 0 }],
  ],
] as const)("there is no forecast, for %s", (reason, weeks) => {
  expect(forecast(weeks, 0.9)).toMatchObject({ inWeeks: null, reason });
});

it("a week of which days are not recorded was not observed well enough", async () => {
  const nowMs = Date.UTC(2026, 10, 20, 12);
  const endMs = Math.floor(nowMs / dayMs) * dayMs;
  const account = {
    ...emptyAccount,
    ms: { ...noneByStatus, occupied: dayMs / 2, idle: dayMs / 2 },
  };
  const names = new Map([["git", account]]);
  const weeksOf = async (days: number) => {
    const starts = Array.from({ length: days }, (_, day) => endMs - weekMs + day * dayMs);
    async function* buckets() {
      yield starts.map((startMs) => ({
        target: research,
        bucket: { ...emptyBucket(startMs), recordedMs: dayMs, names },
      }));
    }
    return (await readWeeks({ buckets }, nowMs, () => ["all"])).get("all")?.at(-1);
  };
  expect(await weeksOf(7)).toEqual({ occupiedShare: 0.5, observedShare: 1 });
  expect(await weeksOf(3)).toEqual({ occupiedShare: 0.5, observedShare: 3 / 7 });
  const last = await weeksOf(3);
  const weeks = [...[0.1, 0.2, 0.3, 0.4].map(observed), ...(last ? [last] : [])];
  expect(forecast(weeks, 0.9)).toMatchObject({ reason: "too_little" });
});
