import * as fc from "fast-check";
import { expect, it } from "vitest";
import { addStay, addStays, noStays } from "../../../src/core/occupancy/stay-sketch.ts";
import { StaySum } from "../../../src/core/occupancy/stay-sum.ts";

const sketch = fc
  .array(fc.oneof(fc.nat(1_000), fc.nat(40_000_000_000)), { maxLength: 8 })
  .map((stays) => stays.reduce(addStay, noStays));

it("sketches add up in place to what they add up to", () => {
  fc.assert(
    fc.property(fc.array(sketch), (sketches) => {
      const sum = new StaySum();
      for (const each of sketches) sum.add(each);
      expect(sum.toSketch()).toEqual(sketches.reduce(addStays, noStays));
    }),
  );
});
