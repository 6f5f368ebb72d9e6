import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unmetBy } from "../../src/alerts/probe-expectation.ts";
import type { Expectation, FieldMust } from "../../src/alerts/probe-expectation.ts";

const nothing: Expectation = { status: 200, success: null, atLeast: null, fields: [] };

function unmet(more: Partial<Expectation>, content: unknown, listed: number | null = null) {
  return unmetBy({ ...nothing, ...more }, { content, listed });
}

function field(name: string, must: FieldMust): Partial<Expectation> {
  return { fields: [{ path: name.split("."), must }] };
}

const present: FieldMust = { be: "present" };
const absent: FieldMust = { be: "absent" };
const equal = (to: string | number | boolean | null): FieldMust => ({ be: "equal", to });

describe("an answer is as expected", () => {
  it.each<[string, Partial<Expectation>, unknown, number?]>([
    ["when nothing more is expected than that it comes", {}, null],
    ["when it says that it succeeded", { success: true }, { success: true }],
    ["when it says that it did not", { success: false }, { success: false }],
    ["when it lists as many as it must", { atLeast: 3 }, null, 3],
    ["when a text is the same", field("a.b", equal("x")), { a: { b: "x" } }],
    ["when a number is the same", field("a", equal(1)), { a: 1.0 }],
    ["when it is null and must be", field("a", equal(null)), { a: null }],
    ["when a field is there", field("a.0", present), { a: [false] }],
    ["when a field is missing that must not be there", field("a.b", absent), {}],
    ["when such a field is null", field("a", absent), { a: null }],
  ])("%s", (_, expectation, content, listed) => {
    expect(unmet(expectation, content, listed ?? null)).toBeNull();
  });
});

describe("an answer is not as expected", () => {
  it.each<[string, Partial<Expectation>, unknown, string, number?]>([
    ["when a refusal is", { status: 404 }, {}, "HTTP 200, not 404"],
    ["when it does not say that it succeeded", { success: true }, {}, "the answer says no success"],
    [
      "when success is no boolean",
      { success: true },
      { success: "true" },
      "the answer says no success",
    ],
    [
      "when it should not succeed",
      { success: false },
      { success: true },
      "the answer says success",
    ],
    ["when it lists fewer", { atLeast: 3 }, null, "2 listed, not at least 3", 2],
    ["when it lists nothing", { atLeast: 1 }, null, "0 listed, not at least 1"],
    [
      "when a value is another",
      field("a.b", equal("x")),
      { a: { b: "y" } },
      "field a.b has another value",
    ],
    ["when a number is a text", field("a", equal(1)), { a: "1" }, "field a has another value"],
    ["when a value is missing", field("a.b", equal("x")), { a: 3 }, "field a.b is not there"],
    ["when a value is null", field("a", equal("x")), { a: null }, "field a is null"],
    ["when a field must be there", field("a", present), {}, "field a is not there"],
    [
      "when a field that must be there is null",
      field("a", present),
      { a: null },
      "field a is null",
    ],
    ["when a field must not be there", field("a", absent), { a: [] }, "field a is there"],
  ])("%s", (_, expectation, content, detail, listed) => {
    expect(unmet(expectation, content, listed ?? null)).toBe(detail);
  });

  it("and one that is not met of several is told", () => {
    const fields = [
      { path: ["a"], must: present },
      { path: ["b"], must: equal(2) },
    ];
    expect(unmet({ fields }, { a: 1, b: 1 })).toBe("field b has another value");
  });
});

it("whatever is answered and expected, it is judged, and no value of the answer is told", () => {
  const secret = "T0PSECRET";
  const leaf = fc.oneof(fc.constant(secret), fc.constant(null), fc.integer());
  const answers = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "success"), tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  const musts = fc.oneof(
    fc.constantFrom<FieldMust>(present, absent),
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)).map(equal),
  );
  const expectations = fc.record<Expectation>({
    status: fc.constantFrom(200, 404),
    success: fc.option(fc.boolean(), { nil: null }),
    atLeast: fc.option(fc.nat(5), { nil: null }),
    fields: fc.array(
      fc.record({
        path: fc.array(fc.constantFrom("a", "b", "0", "1", "length"), { minLength: 1 }),
        must: musts,
      }),
      { maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(
      answers,
      expectations,
      fc.option(fc.nat(5), { nil: null }),
      (content, expectation, listed) => {
        const detail = unmetBy(expectation, { content, listed });
        expect(detail ?? "").not.toContain(secret);
      },
    ),
  );
});
