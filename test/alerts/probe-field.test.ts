import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fieldAt, fieldPathText, parseFieldPath } from "../../src/alerts/probe-expectation.ts";

const names = fc.array(fc.string({ unit: "binary", minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 5,
});
const oddNames = fc.array(
  fc.constantFrom(".", "\\", "a.b", "\\.", "0", "__proto__", "沙箱", "\n"),
  {
    minLength: 1,
    maxLength: 4,
  },
);

describe("a path to a field", () => {
  it("is the same after it was written and read, whatever names it has", () => {
    fc.assert(
      fc.property(fc.oneof(names, oddNames), (path) => {
        expect(parseFieldPath(fieldPathText(path))).toEqual(path);
      }),
    );
  });

  it.each([
    ["a", ["a"]],
    ["data.plans.0.name", ["data", "plans", "0", "name"]],
    ["cal\\.com.status", ["cal.com", "status"]],
    ["back\\\\slash", ["back\\slash"]],
  ])("%s is read as %j", (text, path) => {
    expect(parseFieldPath(text)).toEqual(path);
  });

  it.each(["", ".", "a.", ".a", "a..b", "a\\", "a\\b"])("%j is none", (text) => {
    expect(parseFieldPath(text)).toBeUndefined();
  });
});

describe("the field at a path", () => {
  const answer: unknown = JSON.parse(
    '{ "a": { "b": [10, { "c": null }], "x.y": 1, "__proto__": { "z": 2 }, "length": 3 } }',
  );

  it.each<[string, unknown]>([
    ["a.b.0", 10],
    ["a.b.1.c", null],
    ["a.x\\.y", 1],
    ["a.__proto__.z", 2],
    ["a.length", 3],
  ])("%s is what stands there", (text, value) => {
    expect(fieldAt(answer, parseFieldPath(text) ?? [])).toBe(value);
  });

  it.each([
    "b",
    "a.c",
    "a.b.2",
    "a.b.length",
    "a.b.-1",
    "a.b.0.toString",
    "constructor",
    "a.b.1.c.d",
  ])("%s is nowhere", (text) => {
    expect(fieldAt(answer, parseFieldPath(text) ?? [])).toBeUndefined();
  });

  it("is looked for in any JSON whatsoever without a fault", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.oneof(names, oddNames), (value, path) => {
        expect(() => fieldAt(value, path)).not.toThrow();
      }),
    );
  });
});
