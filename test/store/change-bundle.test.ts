import * as fc from "fast-check";
import { expect, it } from "vitest";
import { BundlePacker, openBundle } from "../../src/store/change-bundle.ts";

it("what a bundle is made of comes out of it, also at times before 1970 and out of order", async () => {
  const row = fc.record({
    row: fc.integer({ min: 1, max: 1_000 }),
    atMs: fc.integer({ min: -4_000_000_000_000, max: 4_000_000_000_000 }),
    targetId: fc.integer({ min: 1, max: 100_000 }),
    texts: fc.array(fc.string({ unit: "binary" })).map((texts) => JSON.stringify(texts)),
    words: fc.uint8Array({ minLength: 1, maxLength: 90 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (increasing) => {
      let last = 0;
      const rows = increasing.map((each) => ({ ...each, row: (last += each.row) }));
      const packer = new BundlePacker();
      for (const each of rows) packer.add(each);
      const read = await openBundle(await packer.finish());
      expect(Array.from(read.rows, (each) => ({ ...each, words: [...each.words] }))).toEqual(
        rows.map((each) => ({ ...each, words: [...each.words] })),
      );
    }),
  );
});
