import * as fc from "fast-check";
import { expect, it } from "vitest";
import { failureText } from "../../src/cli/lookup.ts";
import { answerText } from "../../src/cli/lookup-text.ts";
import { jsonText } from "../../src/cli/output.ts";
import { cutToWidth, textWidth } from "../../src/cli/table.ts";
import { lookupWords } from "../../src/fleet/lookup-words.ts";
import type { AnsweredView, FailedView } from "../../src/api/operations/lookups.ts";
import type { JsonValue } from "../../src/service/json.ts";

const request = { id: "x1", region: "us", key: "research" };

function textOf(operation: AnsweredView["operation"], answer: JsonValue, width?: number): string {
  return answerText({ ...request, operation, outcome: "answered", answer }, width);
}

function textOfFailure(changes: Partial<FailedView>): string {
  return failureText({
    ...request,
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
const anyAnswer = fc.oneof(
  anyJson,
  fc.record({ universes: fc.array(fc.record({ universe_id: hostile, task_nums: anyJson })) }),
  fc.record({
    local_sandboxes: fc.array(
      fc.record({
        status: anyJson,
        servers: fc.array(fc.record({ server_name: hostile, metadata: anyJson, tags: anyJson })),
      }),
    ),
    total_count: anyJson,
  }),
);

it("any response is lines that fit the terminal and cannot move its cursor", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...lookupWords),
      anyAnswer,
      fc.integer({ min: 40, max: 120 }),
      (operation, answer, width) => {
        const text = textOf(operation, answer, width);
        expect(text.endsWith("\n")).toBe(true);
        for (const line of text.split("\n")) {
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
          expect(textWidth(line)).toBeLessThanOrEqual(width);
        }
      },
    ),
    { numRuns: 300 },
  );
});

it("a listing is a line for each server, and for each sandbox without servers", () => {
  const server = { id: "v1", server_name: "git", status: "idle", tags: ["a", "b"], metadata: null };
  const answer = {
    local_sandboxes: [
      { local_sandbox_id: "s1", status: "error", benchmark: "Atlas", servers: [server] },
      { local_sandbox_id: "s2", created_at: "then", servers: [] },
    ],
    total_count: 3,
  };
  const lines = textOf("sandboxes", answer).split("\n");
  expect(lines[0]).toBe("2 sandboxes, total_count: 3");
  expect(lines.slice(1, -1).map((line) => line.split(/ {2,}/).slice(0, 9).join(" "))).toEqual([
    "status name server sandbox its status created updated benchmark tags",
    "idle git v1 s1 error - - Atlas a, b",
    "- - - s2 - then - - -",
  ]);
});

it("universes are a table", () => {
  const universe = { universe_id: "u1", name: "Atlas", task_nums: ["1", "2"], personas: [{}, {}] };
  expect(textOf("universes", { universes: [universe] })).toBe(
    [
      "universe  personas   name   domain  created  tasks  description",
      "u1        [2 items]  Atlas  -       -        1, 2   -",
      "",
    ].join("\n"),
  );
  expect(textOf("universes", { universes: [] })).toBe("There are no universes.\n");
});

it("anything else is a tree", () => {
  const answer = { a: { b: [1, { c: "x", d: [] }], e: {} }, "": "", f: "two\nlines", g: null };
  expect(textOf("universe-data", answer)).toBe(
    [
      "a:",
      "  b:",
      "    - 1",
      "    - c: x",
      "      d: []",
      "  e: {}",
      '"": ""',
      "f: two\\u{a}lines",
      "g: null",
      "",
    ].join("\n"),
  );
});

it.each([
  ["abc", 3, "abc"],
  ["abcd", 3, "ab…"],
  ["漢字漢字", 8, "漢字漢字"],
  ["漢字漢字", 6, "漢字…"],
  ["漢字漢字", 7, "漢字漢…"],
  ["😀😀", 3, "😀…"],
  ["e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
])("%s in %i columns is %s", (text, width, cut) => {
  expect(cutToWidth(text, width)).toBe(cut);
});

it("JSON output cannot move a cursor either, and is the same JSON", () => {
  const value = { "a\u0085": "\u202e\u{e0001}\u2028x\u001b[2J é漢😀" };
  const text = jsonText(value);
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(text).toContain("é漢😀");
  expect(JSON.parse(text)).toEqual(value);
});

it.each<[Partial<FailedView>, string]>([
  [{ reason: "auth", status: 401 }, "HTTP 401. The service does not know the key"],
  [{ operation: "white-label" }, 'us/research: there is no client "x1"'],
  [{ problem: "operation_missing" }, "HTTP 404. Check the path in the region's base_url"],
  [{ reason: "rate_limited", status: 429, retry_after_seconds: 7 }, "Try again in 7 s."],
  [{ status: 302, problem: "redirected" }, "The key is sent to the configured address only"],
  [{ status: 418 }, "The interface has no such status"],
  [{ reason: "timeout", status: null }, "give it longer with poll.timeout."],
  [{ reason: "too_large", status: 200 }, "reads at most 8 MiB"],
  [{ status: 400 }, "check the id if one was given"],
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
