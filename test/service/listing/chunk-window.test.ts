import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ChunkWindow } from "../../../src/service/listing/chunk-window.ts";

test("what is used of the bytes handed out is all of them, once and in order", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 12_000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(sizes, sizes, fc.array(fc.boolean(), { minLength: 1 }), (chunks, tokens, stops) => {
      const window = new ChunkWindow();
      let pushed = 0;
      let expected = 0;
      let turn = 0;
      const total = chunks.reduce((sum, each) => sum + each, 0);
      /** Uses whole tokens only, and at times leaves off before it must. */
      const use = (bytes: Buffer, isLast: boolean): number => {
        let at = 0;
        for (;;) {
          const size = tokens[turn % tokens.length] ?? 1;
          const isCut = at + size > bytes.length;
          if (isCut && !isLast) return at;
          for (const end = Math.min(at + size, bytes.length); at < end; at++, expected++) {
            if (bytes[at] !== expected % 251) throw new RangeError(`not byte ${expected}`);
          }
          turn++;
          if (at === bytes.length || stops[turn % stops.length]) return at;
        }
      };
      const readOn = (): void => {
        for (let bytes = window.next(0); bytes; bytes = window.next(0)) {
          const count = use(bytes, false);
          const size = tokens[turn % tokens.length] ?? 1;
          window.used(count, count + size > bytes.length);
        }
      };
      for (const size of chunks) {
        window.push(Buffer.from(Array.from({ length: size }, () => pushed++ % 251)));
        if (size % 3) readOn();
      }
      readOn();
      expect(window.isDrained).toBe(true);
      for (let bytes = window.rest(); bytes.length > 0; bytes = window.rest()) {
        window.used(use(bytes, true), false);
      }
      expect(expected).toBe(total);
    }),
  );
});
