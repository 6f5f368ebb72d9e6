import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readable } from "../../src/fleet/text.ts";

describe("a readable text", () => {
  it.each([
    ["github", "github"],
    ["exactly ten", "exactly te…"],
    ["a\r\nb\u2028c", "a b c"],
    ["\u001b[31m", " [31m"],
    ["\u202Eabc", " abc"],
    ["\uD800", " "],
    ["123456789😀", "123456789…"],
    ["12345678😀", "12345678😀"],
  ])("of %j is %j", (text, shown) => {
    expect(readable(text, 10)).toBe(shown);
  });

  it("is one well-formed line of at most the length allowed, whatever it is made of", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\n", "\uD83D", "\uDE00", "é", "\u0000") });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 12 }), (given, longest) => {
        const shown = readable(given, longest);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(longest + 1);
        expect(shown).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});
