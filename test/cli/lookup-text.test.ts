import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explainFailure } from "../../src/cli/lookup-failure.ts";
import { answerText } from "../../src/cli/lookup-text.ts";
import { jsonText } from "../../src/cli/output.ts";
import { cutToWidth, textWidth } from "../../src/cli/text-width.ts";
import { renderTree } from "../../src/cli/tree.ts";
import { lookupWords } from "../../src/fleet/lookup-words.ts";
import type { AnsweredView, FailedView } from "../../src/api/operations/lookups.ts";
import type { JsonValue } from "../../src/service/json.ts";

const asked = { id: "x1", region: "us", key: "research" };

function answered(operation: AnsweredView["operation"], answer: JsonValue): AnsweredView {
  return { ...asked, operation, outcome: "answered", answer };
}

function failed(changes: Partial<FailedView>): FailedView {
  return {
    ...asked,
    operation: "user",
    outcome: "failed",
    reason: "http_error",
    status: 404,
    detail: "HTTP 404",
    problem: null,
    retry_after_seconds: null,
    validation: [],
    ...changes,
  };
}

const anyJson = fc.jsonValue({ noUnicodeString: false }).map((value): JsonValue => {
  const read: JsonValue = JSON.parse(JSON.stringify(value));
  return read;
});
const hostile = fc.constantFrom("\u001b[2J", "a\nb", "\u202eabc", "\u0085", "漢字", "e\u0301", "");
const anyAnswer = fc.oneof(
  anyJson,
  fc.record({ universes: fc.array(anyJson) }),
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

describe("an answer in words", () => {
  it("is of any JSON lines that fit the terminal and cannot move its cursor", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...lookupWords),
        anyAnswer,
        fc.integer({ min: 40, max: 120 }),
        (operation, answer, columns) => {
          const text = answerText(answered(operation, answer), columns);
          expect(text.endsWith("\n")).toBe(true);
          const lines = text.split("\n");
          for (const line of lines) {
            expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
            expect(textWidth(line)).toBeLessThanOrEqual(columns);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("has each sandbox with its servers below it", () => {
    const server = {
      id: "v1",
      server_name: "git",
      status: "idle",
      updated_at: "now",
      benchmark: null,
      tags: ["a", "b"],
      mcp_server_url: "https://h/?[secret]",
      auth_data: "[secret]",
      metadata: null,
    };
    const answer = {
      local_sandboxes: [
        {
          local_sandbox_id: "s1",
          status: "error",
          created_at: "then",
          benchmark: "Atlas",
          servers: [server],
        },
        { local_sandbox_id: "s2", status: null, created_at: "then", servers: [] },
      ],
      total_count: 3,
    };
    expect(answerText(answered("sandboxes", answer))).toBe(
      [
        "2 sandboxes, 1 server (total_count: 3)",
        "  status  name  server  updated  benchmark  tags  url",
        "sandbox s1: error, benchmark Atlas, created then",
        "  idle    git   v1      now      -          a, b  https://h/?[secret]",
        "      auth_data: [secret]",
        "sandbox s2: -, created then",
        "",
      ].join("\n"),
    );
  });

  it("has universes as a table", () => {
    const universe = {
      universe_id: "u1",
      name: "Atlas",
      task_nums: ["1", "2"],
      personas: [{}, {}],
    };
    expect(answerText(answered("universes", { universes: [universe] }))).toBe(
      [
        "universe  personas  name   domain  created  tasks  description",
        "u1        2         Atlas  -       -        1, 2   -",
        "",
      ].join("\n"),
    );
    expect(answerText(answered("universes", { universes: [] }))).toBe("There are no universes.\n");
  });

  it("keeps statuses and counts where a line is too short for the rest", () => {
    const id = "3f2a0c1e-5b7d-4e0a-9c55-2d1f7a6b8c90";
    const name = "a name that goes on and on, longer than the terminal is wide";
    const server = { id, server_name: name, status: "occupied" };
    const sandbox = {
      local_sandbox_id: id,
      status: "error",
      created_at: "then",
      servers: [server],
    };
    const sandboxes = { local_sandboxes: [sandbox], total_count: 1 };
    expect(answerText(answered("sandboxes", sandboxes), 60)).toBe(
      [
        "1 sandbox, 1 server",
        "  status    name                                           …",
        `sandbox ${id}: error, create…`,
        "  occupied  a name that goes on and on, longer than the ter…",
        "",
      ].join("\n"),
    );
    const universe = { universe_id: id, name, personas: [{}, {}] };
    expect(answerText(answered("universes", { universes: [universe] }), 60)).toBe(
      [
        "universe                              personas  name       …",
        `${id}  2         a name that…`,
        "",
      ].join("\n"),
    );
  });

  it("has anything else as a tree", () => {
    const answer = { a: { b: [1, { c: "x", d: [] }], e: {} }, "": "", f: "two\nlines", g: null };
    expect(answerText(answered("universe-data", answer))).toBe(
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
});

describe("a tree", () => {
  it("says what it leaves out of what is long, deep or large", () => {
    const long = Array.from({ length: 25 }, (_, index) => index);
    expect(renderTree(long)).toMatch(/^- 19\n… 5 more items\n$/m);
    let deep: JsonValue = { end: 1 };
    for (let level = 0; level < 500; level += 1) deep = { a: deep };
    expect(renderTree(deep)).toMatch(/a: \{1 fields\}\n$/);
    const large = Array.from({ length: 20 }, () => long.map(() => long));
    expect(renderTree(large)).toMatch(/… and more; --json has all of it\n$/);
    expect(renderTree("x".repeat(10_000)).length).toBe(501);
  });
});

describe("text of any width", () => {
  it.each([
    ["abc", 3, "abc"],
    ["abcd", 3, "ab…"],
    ["漢字漢字", 8, "漢字漢字"],
    ["漢字漢字", 6, "漢字…"],
    ["漢字漢字", 7, "漢字漢…"],
    ["😀😀", 3, "😀…"],
    ["e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
    ["", 0, ""],
  ])("is cut to what fits: %s to %i", (text, columns, cut) => {
    expect(cutToWidth(text, columns)).toBe(cut);
  });

  it("is cut where it is made of what takes no room", () => {
    expect(cutToWidth("\u0301".repeat(100_000), 80).length).toBeLessThan(400);
  });
});

it("JSON for programs cannot move a cursor either, and is the same JSON", () => {
  const value = { "a\u0085": "\u202e\u{e0001}\u2028x\u001b[2J é漢😀" };
  const text = jsonText(value);
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(text).toContain("é漢😀");
  expect(JSON.parse(text)).toEqual(value);
});

describe("a failure in words", () => {
  it.each<[Partial<FailedView>, string]>([
    [
      { reason: "auth", status: 401 },
      "does not know the key research in us (HTTP 401). Check its api_key",
    ],
    [{ reason: "auth", status: 403 }, "refuses the key research in us (HTTP 403)"],
    [{ reason: "auth", status: null, detail: "why" }, "The key research cannot be sent: why."],
    [{ status: 404 }, 'knows no user "x1" in us'],
    [{ operation: "white-label" }, 'knows no client "x1" in us'],
    [
      { operation: "universes", id: null, problem: "operation_missing" },
      "There is no such operation in us (HTTP 404), whatever it is asked for. Check the region's base_url.",
    ],
    [{ problem: "operation_missing" }, "There is no such operation in us (HTTP 404)"],
    [
      { reason: "rate_limited", status: 429 },
      "limits the key research in us (HTTP 429). Try again in a while.",
    ],
    [{ reason: "rate_limited", status: 429, retry_after_seconds: 7 }, "Try again in 7 s."],
    [
      { reason: "server_error", status: 503, retry_after_seconds: 0 },
      "failed in us (HTTP 503). Try again in 1 s.",
    ],
    [
      { status: 302, problem: "redirected", detail: "HTTP 302: a redirect to another host" },
      "in us sends elsewhere (HTTP 302: a redirect to another host): the key is sent to no address",
    ],
    [{ status: 304, detail: "HTTP 304" }, "answers with HTTP 304, which its interface does not"],
    [{ status: 418 }, "answers with HTTP 418, which its interface does not have"],
    [
      { reason: "timeout", status: null, detail: "no whole answer within 10 s" },
      "within 10 s. Try again, or give it longer with poll.timeout.",
    ],
    [
      { reason: "network", status: null, detail: "connection refused" },
      "cannot be reached in us: connection refused. Check",
    ],
    [
      { reason: "invalid_body", status: 200, detail: "the body is not JSON" },
      "not what this operation promises: the body is not JSON.",
    ],
    [{ reason: "too_large", status: 200, detail: "long" }, "At most poll.max_body is read"],
    [{ status: 400 }, 'says that the parameters are not correct (HTTP 400). Check the id "x1".'],
    [
      { status: 400, id: null, operation: "universes" },
      "says that the parameters are not correct (HTTP 400). Check the request.",
    ],
    [{ status: 422 }, 'finds fault with the id "x1" (HTTP 422), and does not say why.'],
    [{ status: 422, id: null, operation: "universes" }, "finds fault with the request (HTTP 422)"],
  ])("says what it means and what to do: %j", (changes, says) => {
    expect(explainFailure(failed(changes))).toContain(says);
  });

  it("shows each entry of a 422, with its place and message", () => {
    const validation = [
      { loc: ["path", "userId", 3], msg: "too\u001b[2J long", type: "string_too_long" },
      { loc: [], msg: "", type: "" },
    ];
    expect(explainFailure(failed({ status: 422, validation }))).toBe(
      [
        'The service in us finds fault with the id "x1" (HTTP 422).',
        "  path.userId.3: too\\u{1b}[2J long (string_too_long)",
        "  (no place given): no message",
      ].join("\n"),
    );
  });

  it("does not fill a screen with a long id", () => {
    expect(explainFailure(failed({ id: "x".repeat(1_000) })).length).toBeLessThan(400);
  });
});
