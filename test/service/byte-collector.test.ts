import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createByteCollector } from "../../src/service/byte-collector.ts";

const edges = [0, 1, 2, 4095, 4096, 4097, 65_535, 65_536, 65_537];
const chunkSize = fc.oneof(fc.nat(5000), fc.constantFrom(...edges));

/** Chunks that tell where each of their bytes belongs, as well as 251 values can. */
function chunksOf(sizes: readonly number[]): readonly Buffer[] {
  let at = 0;
  return sizes.map((size) => Buffer.from(Array.from({ length: size }, () => at++ % 251)));
}

test("a body is the same in whatever chunks it comes", () => {
  fc.assert(
    fc.property(fc.array(chunkSize, { maxLength: 60 }), (sizes) => {
      const chunks = chunksOf(sizes);
      const whole = Buffer.concat(chunks);
      const collector = createByteCollector();
      for (const chunk of chunks) collector.add(chunk);
      expect(collector.size).toBe(whole.length);
      expect(collector.join().equals(whole)).toBe(true);
    }),
    { examples: [[Array.from({ length: 200 }, () => 1000)]] },
  );
});

test("of small chunks nothing is kept but their bytes", () => {
  const collector = createByteCollector();
  const [small, large, smallAgain] = chunksOf([4095, 4096, 1]);
  for (const chunk of [small, large, smallAgain]) if (chunk) collector.add(chunk);
  small?.fill(0xff);
  smallAgain?.fill(0xff);
  expect(collector.join().includes(0xff)).toBe(false);
});
