import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fieldAt,
  fieldPathPattern,
  fieldPathText,
  parseFieldPath,
  unmetBy,
} from "../../src/alerts/probe-expectation.ts";
import type { Expectation, FieldMust } from "../../src/alerts/probe-expectation.ts";

const nothing: Expectation = { status: 200, success: null, atLeast: null, fields: [] };
const present: FieldMust = { be: "present" };
const absent: FieldMust = { be: "absent" };
const equal = (to: string | number | boolean | null): FieldMust => ({ be: "equal", to });
const field = (name: string, must: FieldMust): Partial<Expectation> => ({
  fields: [{ path: name.split("."), must }],
});
const isOne = (name: string) => ({ path: [name], must: equal(1) });

it.each<
  [expectation: Partial<Expectation>, content: unknown, unmet: string | null, listed?: number]
>([
  [{}, null, null],
  [{ status: 404 }, {}, "HTTP 200, not 404"],
  [{ success: true }, { success: true }, null],
  [{ success: true }, {}, "success is not true"],
  [{ success: true }, { success: "true" }, "success is not true"],
  [{ success: false }, { success: true }, "success is not false"],
  [{ atLeast: 3 }, null, null, 3],
  [{ atLeast: 3 }, null, "2 listed, not at least 3", 2],
  [{ atLeast: 1 }, null, "0 listed, not at least 1"],
  [field("a.b", equal("x")), { a: { b: "x" } }, null],
  [field("a", equal(null)), { a: null }, null],
  [field("a.b", equal("x")), { a: { b: "y" } }, "field a.b has another value"],
  [field("a", equal(1)), { a: "1" }, "field a has another value"],
  [field("a.b", equal("x")), { a: 3 }, "field a.b is not there"],
  [field("a", equal("x")), { a: null }, "field a is null"],
  [field("a.0", present), { a: [false] }, null],
  [field("a", present), { a: null }, "field a is null"],
  [field("a.b", absent), {}, null],
  [field("a", absent), { a: null }, null],
  [field("a", absent), { a: [] }, "field a is there"],
  [{ fields: ["a", "b"].map(isOne) }, { a: 1, b: 2 }, "field b has another value"],
])("what is unmet of %j by %j: %s", (expectation, content, unmet, listed) => {
  expect(unmetBy({ ...nothing, ...expectation }, { content, listed: listed ?? null })).toBe(unmet);
});

it("whatever is answered and expected, no value of the answer is in what is unmet", () => {
  const secret = "T0PSECRET";
  const answers = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(secret, null, 7),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "success"), tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  const must = fc.oneof(
    fc.constantFrom<FieldMust>(present, absent),
    fc.constantFrom("x", 1, true, null).map(equal),
  );
  const path = fc.array(fc.constantFrom("a", "b", "0", "1", "length"), { minLength: 1 });
  const expectations = fc.record<Expectation>({
    status: fc.constantFrom(200, 404),
    success: fc.option(fc.boolean(), { nil: null }),
    atLeast: fc.option(fc.nat(5), { nil: null }),
    fields: fc.array(fc.record({ path, must }), { maxLength: 3 }),
  });
  const listed = fc.option(fc.nat(5), { nil: null });
  fc.assert(
    fc.property(answers, expectations, listed, (content, expectation, count) => {
      expect(unmetBy(expectation, { content, listed: count }) ?? "").not.toContain(secret);
    }),
  );
});

describe("a path to a field", () => {
  const names = fc.array(
    fc.oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: 8 }),
      fc.constantFrom(".", "\\", "a.b", "\\.", "0", "__proto__", "沙箱", "\n"),
    ),
    { minLength: 1, maxLength: 5 },
  );

  it("is the same after it was written and read, and leads somewhere or nowhere", () => {
    fc.assert(
      fc.property(names, fc.jsonValue(), (path, value) => {
        const text = fieldPathText(path);
        expect(parseFieldPath(text)).toEqual(path);
        expect(text).toMatch(fieldPathPattern);
        expect(() => fieldAt(value, path)).not.toThrow();
      }),
    );
  });

  it.each(["", ".", "a.", ".a", "a..b", "a\\", "a\\b"])("is not %j", (text) => {
    expect(parseFieldPath(text)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ["a.b.0", 10],
    ["a.b.1.c", null],
    ["a.x\\.y", 1],
    ["a.back\\\\slash", 4],
    ["a.__proto__.z", 2],
    ["a.length", 3],
    ...["b", "a.c", "a.b.2", "a.b.length", "a.b.-1", "a.b.0.toString", "constructor"].map(
      (text): [string, unknown] => [text, undefined],
    ),
  ])("%s leads to %j", (text, value) => {
    const answer: unknown = JSON.parse(
      String.raw`{ "a": { "b": [10, { "c": null }], "x.y": 1, "__proto__": { "z": 2 }, "length": 3, "back\\slash": 4 } }`,
    );
    expect(fieldAt(answer, parseFieldPath(text) ?? [])).toBe(value);
  });
});
