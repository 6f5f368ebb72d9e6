import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMask } from "../../src/service/mask.ts";
import { Secret } from "../../src/lib/secret.ts";
import type { JsonValue } from "../../src/service/json-value.ts";

const apiKey = new Secret("key-7f3a91");
const mask = createMask(apiKey);

describe("the text of an answer", () => {
  it.each([
    ["https://host/git/mcp/?local_sandbox_id=1", "https://host/git/mcp/?[secret]"],
    ["https://host/git/mcp/?x", "https://host/git/mcp/?[secret]"],
    [
      "see (https://host/p?x=1) and wss://h/q?y",
      "see (https://host/p?[secret] and wss://h/q?[secret]",
    ],
    ["https://ann:pa@ss@host/p", "https://[secret]@host/p"],
    ["https://token@host?x=1", "https://[secret]@host?[secret]"],
    ["https://host/p#access_token=abc", "https://host/p#[secret]"],
    ["/path?code=abc", "/path?[secret]"],
    ['{"access_token": "abc d", "n": 1}', '{"access_token": [secret], "n": 1}'],
    ['{\\"token\\":\\"abc\\"}', '{\\"token\\":[secret]}'],
    ["api_key=abc;x=1", "api_key=[secret];x=1"],
    ["Authorization: Bearer abc.def", "Authorization: [secret]"],
    ["send Bearer abcdefgh12 with it", "send Bearer [secret] with it"],
    ["password: 'a b'", "password: [secret]"],
  ])("is shown without what may be secret in it: %s", (text, shown) => {
    expect(mask.text(text)).toBe(shown);
  });

  it.each([
    "",
    "Is it so? Yes.",
    "https://host/p",
    "https://host/docs#section-2",
    "https://host/@ann/p",
    "mail ann@example.com",
    "C# and F#",
    "a=b",
    "2026-02-16T12:45:25.770231-08:00",
  ])("is shown as it is where there is none: %s", (text) => {
    expect(mask.text(text)).toBe(text);
  });

  it("has no form that takes more than linear time", () => {
    const forms = [
      "token",
      "://",
      "?",
      "#",
      "?#",
      "bearer ",
      'token="',
      "@",
      'x-token\\"',
      "api_key ",
    ];
    for (const form of forms) expect(mask.text(form.repeat(200_000))).not.toBe("");
  });
});

describe("the value of a field", () => {
  const isHidden = async (name: string): Promise<boolean> => {
    const shown = await mask.answer({ [name]: "value" });
    return JSON.stringify(shown).includes("[secret]");
  };
  const secretNames = `token refreshToken X-Auth auth_data authData metadata API-Key apikey
    client_secret passwordHash pwd Set-Cookie session_id private_key OTP ｔｏｋｅｎ OAuth
    Proxy-Authorization webhook_url dsn`;
  it.each(secretNames.split(/\s+/))("called %s is masked", async (name) => {
    expect(await isHidden(name)).toBe(true);
  });

  const otherNames = ["", "author", "key", "primary_key", "name", "compass", "pinned", "session"];
  it.each(otherNames)("called %s is shown", async (name) => {
    expect(await isHidden(name)).toBe(false);
  });
});

describe("an answer", () => {
  it.each<[JsonValue, JsonValue]>([
    [{ auth_data: { token: "abc" } }, { auth_data: "[secret]" }],
    [
      { metadata: null, tokens: [], password: "" },
      { metadata: null, tokens: [], password: "" },
    ],
    [{ a: [{ b: { secret: 7 } }] }, { a: [{ b: { secret: "[secret]" } }] }],
    [{ mcp_server_url: "//host/p?abc" }, { mcp_server_url: "//host/p?[secret]" }],
    [
      { name: "API_KEY", value: "abc" },
      { name: "API_KEY", value: "[secret]" },
    ],
    [
      { name: "colour", value: "red" },
      { name: "colour", value: "red" },
    ],
    [
      ["key-7f3a91", { "x key-7f3a91": 1 }],
      ["[secret]", { "x [secret]": 1 }],
    ],
    [
      { "h?a=1": 1, "h?b=2": 2, "h?[secret]": 3 },
      { "h?[secret]": 1, "h?[secret] 2": 2, "h?[secret] 3": "[secret]" },
    ],
    [7, 7],
  ])("is shown with what may be secret masked: %j", async (answer, shown) => {
    expect(await mask.answer(answer)).toEqual(shown);
  });

  it("keeps a field called __proto__", async () => {
    const answer: JsonValue = JSON.parse('{"__proto__":{"a":1},"b":2}');
    expect(JSON.stringify(await mask.answer(answer))).toBe('{"__proto__":{"a":1},"b":2}');
  });

  it("of any JSON never shows what stands under a secret name or in a query", async () => {
    const secretName = fc.constantFrom("token", "auth_data", "metadata", "userPassword");
    const planted = fc.oneof(
      fc.tuple(secretName, fc.constantFrom<JsonValue>("S3CRET", ["S3CRET"], { a: "S3CRET" })),
      fc.tuple(fc.string(), fc.constant("https://host/path?q=S3CRET")),
      fc.tuple(fc.constant("https://host/?S3CRET"), fc.constant(1)),
    );
    const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        fc.jsonValue().map((value): JsonValue => JSON.parse(JSON.stringify(value))),
        planted.map(([name, value]) => ({ [name]: value })),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie("tree"), { maxKeys: 3 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree, async (value) => {
        expect(JSON.stringify(await mask.answer(value))).not.toContain("S3CRET");
      }),
      { numRuns: 300 },
    );
  });

  it("of any size lets the event loop turn", async () => {
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    await mask.answer(Array.from({ length: 50_000 }, (_, index) => ({ index })));
    isDone = true;
    expect(turns).toBeGreaterThan(5);
  });
});
