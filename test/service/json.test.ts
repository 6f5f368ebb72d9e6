import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { BodyFault, endOfValue, parseJson } from "../../src/service/json.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function partsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + partsOf(each), 1);
}

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('"', "\\", '\\"', "[[[[", "}}", '{"', "\\\\", "é[\u{1f600}"),
);
// V8 takes a key that is written with an escape for an earlier one that holds a backslash (nodejs/node#63785).
const key = text.filter((each) => !each.includes("\\"));
const { value: anyJson } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: "small" },
    text,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3 }),
  ),
}));

it("the end of any value is found and its nesting and parts are counted, whatever its strings hold", () => {
  fc.assert(
    fc.property(anyJson, fc.nat(7), (value, limit) => {
      const written = JSON.stringify(value);
      const bytes = Buffer.from(`${written},"behind"]`);
      const no = { bytes: Infinity, parts: Infinity, nesting: Infinity };
      const endWithin = (limits: object): number | null => {
        try {
          return endOfValue(bytes, 0, { ...no, ...limits });
        } catch {
          return null;
        }
      };
      const end = Buffer.byteLength(written);
      expect(endWithin({})).toBe(end);
      expect(endWithin({ nesting: limit })).toBe(depthOf(value) > limit ? null : end);
      expect(endWithin({ parts: limit })).toBe(partsOf(value) > limit ? null : end);
      expect(endWithin({ bytes: end - 1 })).toBe(partsOf(value) > 0 ? null : end);
      expect(parseJson(Buffer.from(`\u{feff} ${written}\n`))).toEqual(JSON.parse(written));
    }),
    { numRuns: 500 },
  );
});

it.each([
  ["", "the body is empty"],
  ['"\\', "the body is not JSON (it ends too early)"],
  ['[["', "the body is not JSON (it ends too early)"],
  ["]]]", "the body is not JSON"],
  ['{"a": "b" T0PSECRET}', "the body is not JSON"],
  ["[".repeat(900_000), "the body is nested deeper than 512 levels"],
  [Buffer.from([0x22, 0xff, 0x22]), "the body is not UTF-8"],
])("%j is refused, in words that quote nothing of it", (body, detail) => {
  expect(() => parseJson(Buffer.from(body))).toThrow(new BodyFault("invalid_body", detail));
});
