import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addStay,
  addStays,
  countStays,
  meanStayMs,
} from "../../../src/core/occupancy/stay-sketch.ts";
import { noStays, relativeError, stayQuantileMs } from "../../../src/core/occupancy/stay-sketch.ts";
import type { StaySketch } from "../../../src/core/occupancy/stay-sketch.ts";

const lengths = fc.array(fc.integer({ min: 1, max: 400 * 24 * 3_600_000 }), { minLength: 1 });

const sketchOf = (stays: readonly number[]): StaySketch => stays.reduce(addStay, noStays);

describe("a sketch of stays", () => {
  it("knows any quantile to within its error", () => {
    fc.assert(
      fc.property(lengths, fc.constantFrom(0, 0.5, 0.95, 1), (stays, quantile) => {
        const sorted = stays.toSorted((one, other) => one - other);
        const truth = sorted[Math.floor(quantile * (stays.length - 1))] ?? Number.NaN;
        const estimate = stayQuantileMs(sketchOf(stays), quantile) ?? Number.NaN;
        expect(Math.abs(estimate - truth)).toBeLessThanOrEqual(truth * relativeError * 1.000_001);
      }),
    );
  });

  it("knows number and mean exactly", () => {
    fc.assert(
      fc.property(lengths, (stays) => {
        const sketch = sketchOf(stays);
        expect(countStays(sketch)).toBe(stays.length);
        expect(meanStayMs(sketch)).toBe(stays.reduce((sum, each) => sum + each, 0) / stays.length);
      }),
    );
  });

  it("is the same whether stays came together or apart", () => {
    fc.assert(
      fc.property(lengths, lengths, (some, more) => {
        const apart = addStays(sketchOf(some), sketchOf(more));
        expect(apart).toEqual(sketchOf([...some, ...more]));
      }),
    );
  });

  it("has its bins in their order, each once", () => {
    fc.assert(
      fc.property(lengths, lengths, (some, more) => {
        const { bins } = addStays(sketchOf(some), sketchOf(more));
        expect(bins).toEqual([...new Set(bins)].toSorted((one, other) => one - other));
      }),
    );
  });

  it("of nothing has no mean and no median", () => {
    expect([meanStayMs(noStays), stayQuantileMs(noStays, 0.5)]).toEqual([null, null]);
  });
});
