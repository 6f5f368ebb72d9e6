import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findExcess } from "../../src/service/json-excess.ts";
import { parseRetryAfter } from "../../src/lib/retry-after.ts";

const now = Date.UTC(2026, 10, 20, 9, 30);
const day = 24 * 60 * 60 * 1000;

test.for([
  [undefined, null],
  ["", null],
  ["0", 0],
  ["120", 120_000],
  [" 120 ", 120_000],
  ["1.5", 1500],
  ["-5", 0],
  ["86401", day],
  ["9".repeat(400), day],
  ["1e3", null],
  ["0x10", null],
  ["NaN", null],
  ["Infinity", null],
  ["soon", null],
  ["soon 1", null],
  ["Fri, 20 Nov 2026 09:31:00 GMT", 60_000],
  ["Friday, 20-Nov-26 09:31:00 GMT", 60_000],
  ["Fri Nov 20 09:31:00 2026", 60_000],
  ["Fri, 20 Nov 2026 09:29:00 GMT", 0],
  ["Mon, 23 Nov 2026 09:30:00 GMT", day],
  ["Fri, 20 Nov 2026 25:61:00 GMT", null],
  ["2026-11-20T09:31:00Z", null],
] as const)("Retry-After %j asks to wait %j ms", ([value, waitMs]) => {
  expect(parseRetryAfter(value, now)).toBe(waitMs);
});

const endless = Number.POSITIVE_INFINITY;

/** What the scan is to agree with, by walking the parsed value. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function objectsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value).reduce<number>((sum, each) => sum + objectsIn(each), 0);
  return inside + (Array.isArray(value) ? 0 : 1);
}

test("nesting and objects of any JSON are counted as in its value, whatever its strings hold", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('"', "\\", '\\"', "[[[[", "}}", '{"', "\\\\", "é[\u{1f600}"),
  );
  const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, depthSize: "small" },
      text,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(text, tie("value"), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(json, fc.nat(7), (value, limit) => {
      const bytes = new TextEncoder().encode(JSON.stringify(value));
      const nested = findExcess(bytes, { nesting: limit, objects: endless });
      expect(nested).toBe(depthOf(value) > limit ? "nesting" : null);
      const many = findExcess(bytes, { nesting: endless, objects: limit });
      expect(many).toBe(objectsIn(value) > limit ? "objects" : null);
    }),
    { numRuns: 500 },
  );
});

test("a text that is no JSON does not trouble the counts", () => {
  for (const text of ['"', '"\\', "]]]", '[["', '{"a\\']) {
    expect(findExcess(new TextEncoder().encode(text), { nesting: 2, objects: 1 })).toBeNull();
  }
});
