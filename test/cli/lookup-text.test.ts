import * as fc from "fast-check";
import { expect, it } from "vitest";
import { failureText, linesOf } from "../../src/cli/lookup.ts";
import { cutToWidth } from "../../src/cli/table.ts";
import type { FailedView } from "../../src/api/operations/lookups.ts";
import type { JsonValue } from "../../src/service/json-value.ts";

function textOfFailure(changes: Partial<FailedView>): string {
  return failureText({
    id: "x1",
    region: "us",
    key: "research",
    operation: "user",
    outcome: "failed",
    reason: "http_error",
    status: 404,
    detail: `HTTP ${changes.status ?? 404}`,
    problem: null,
    retry_after_seconds: null,
    validation: [],
    ...changes,
  });
}

const anyJson = fc.jsonValue({ noUnicodeString: false }).map((value): JsonValue => {
  const read: JsonValue = JSON.parse(JSON.stringify(value));
  return read;
});
const hostile = fc.constantFrom("\u001b[2J", "a\nb", "\u202eabc", "\u0085", "漢字", "e\u0301", "");

it("any JSON is lines that cannot move the cursor", () => {
  const value = fc.oneof(anyJson, fc.dictionary(hostile, fc.array(hostile)));
  fc.assert(
    fc.property(value, (answer) => {
      for (const line of linesOf(answer)) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

it("an object is lines as in YAML", () => {
  const answer = { a: { b: [1, { c: "x", d: [] }], e: {} }, "": "", f: "two\nlines", g: null };
  expect(linesOf(answer)).toEqual([
    "a:",
    "  b:",
    "    - 1",
    "    - c: x",
    "      d: []",
    "  e: {}",
    '"": ""',
    "f: two\\u{a}lines",
    "g: null",
  ]);
});

it.each([
  ["abc", 3, "abc"],
  ["abcd", 3, "ab…"],
  ["漢字漢字", 7, "漢字漢…"],
  ["😀😀", 3, "😀…"],
  ["e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
])("%s in %i columns is %s", (text, width, cut) => {
  expect(cutToWidth(text, width)).toBe(cut);
});

it.each<[Partial<FailedView>, string]>([
  [{ reason: "auth", status: 401 }, "us/research: HTTP 401. Check the key's api_key"],
  [{}, "HTTP 404. Check the id and the region"],
  [{ problem: "operation_missing" }, "HTTP 404. Check the path in the region's base_url"],
  [{ reason: "rate_limited", status: 429, retry_after_seconds: 7 }, "Try again in 7 s."],
  [{ status: 302, problem: "redirected" }, "The key is sent to the configured address only"],
  [{ reason: "timeout", status: null }, "or increase poll.timeout."],
  [{ reason: "too_large", status: 200 }, "reads at most 8 MiB"],
  [{ status: 400 }, "Check the id if one was given"],
  [
    {
      status: 422,
      validation: [
        { loc: ["path", "userId", 3], msg: "too\u001b[2J long", type: "string_too_long" },
      ],
    },
    "\n  path.userId.3: too\\u{1b}[2J long (string_too_long)",
  ],
])("the failure %j says what to do", (changes, message) => {
  expect(textOfFailure(changes)).toContain(message);
});
