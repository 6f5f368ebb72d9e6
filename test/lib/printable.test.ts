import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printableJson, printableLine, printableLines } from "../../src/lib/printable.ts";

/** What a terminal would obey or hide, one of each kind. */
const obeyed = Array.from(
  "\0\x07\b\t\r\x1b\x7f\x85\x9b\xad\u061c\u200b\u200e\u200f\u202a\u202e\u2028\u2029\u2066\u2069\ufeff\u{e0041}",
);

describe("text for a terminal", () => {
  it("has every character that a terminal would obey escaped", () => {
    for (const character of obeyed) {
      const code = character.codePointAt(0)?.toString(16);
      expect(printableLine(`a${character}b`)).toBe(`a\\u{${code}}b`);
      expect(printableLines(`a${character}b`)).toBe(`a\\u{${code}}b`);
    }
    expect(printableLine("a\nb\r\nc")).toBe("a\\u{a}b\\u{d}\\u{a}c");
    expect(printableLines("a\nb\r\nc\r\r\n")).toBe("a\nb\r\nc\\u{d}\r\n");
  });

  it("keeps everything else", () => {
    const text = "é 漢字 😀 e\u0301 \\u{1b} a";
    expect([printableLine(text), printableLines(text)]).toEqual([text, text]);
  });

  it("is the same JSON", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: false }),
        fc.constantFrom(...obeyed),
        (value, odd) => {
          const original = { value, [odd]: odd };
          const text = printableJson(JSON.stringify(original, null, 2));
          expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
          expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(original)));
        },
      ),
    );
    expect(printableJson('"é漢😀\u{e0041}"')).toBe('"é漢😀\\udb40\\udc41"');
  });
});
