import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Operation } from "../../src/fleet/model.ts";
import { Secret } from "../../src/lib/secret.ts";
import type { JsonValue } from "../../src/service/json-value.ts";
import { createMask } from "../../src/service/mask.ts";

const mask = createMask(new Secret("key-7f3a91"));

describe("text of the service", () => {
  it.each([
    ["", ""],
    ["Is it so? ann@example.com, a=b", "Is it so? ann@example.com, a=b"],
    ["the key key-7f3a91 is wrong", "the key [masked] is wrong"],
    [
      "see (https://ann:pw@host:81/p?x=1#y) and WSS://h",
      "see (https://host:81/[masked] and wss://h",
    ],
    ["https://h/o'pw?key='pw'", "https://h/[masked]"],
    ["https://?abc", "[masked: text of 12 characters]"],
    ["https://host/", "https://host"],
  ])("is shown without the key, and of addresses with scheme and host only: %s", (text, shown) => {
    expect(mask.text(text)).toBe(shown);
  });

  it("takes linear time", () => {
    for (const form of ["a", "://", "a://", "?", "a.b-"]) {
      expect(mask.text(form.repeat(500_000))).not.toBe("");
    }
  });
});

describe("a response", () => {
  const server = {
    id: "v1",
    server_name: "jira",
    mcp_server_url: "https://u:pw@host/mcp/?instance_id=1",
    status: "idle",
    benchmark: null,
    updated_at: "now",
    metadata: { a: 1, b: 2 },
    auth_data: { token: "x" },
    tags: ["prod"],
  };
  const universe = {
    universe_id: "un1",
    name: "Atlas",
    description: "Maps",
    domain: "travel",
    personas: [{ name: "Ann" }],
    task_nums: ["1", 2],
    created_at: "then",
  };
  const sandbox = { local_sandbox_id: "s1", created_at: "then", status: "new", benchmark: "b" };
  const shownServer = {
    ...server,
    mcp_server_url: "https://host/[masked]",
    metadata: "[masked: object of 2 fields]",
    auth_data: "[masked: object of 1 field]",
  };
  it.each<[Operation, JsonValue, JsonValue]>([
    [
      "list_sandboxes",
      { local_sandboxes: [{ ...sandbox, servers: [server] }], total_count: 1 },
      { local_sandboxes: [{ ...sandbox, servers: [shownServer] }], total_count: 1 },
    ],
    [
      "list_sandboxes",
      { local_sandboxes: [{ servers: [{ tags: "sk-0123456789abcdef" }] }] },
      { local_sandboxes: [{ servers: [{ tags: "[masked: text of 19 characters]" }] }] },
    ],
    [
      "get_user",
      { userId: "u1", createdAt: "then", lastUsedAt: null, plan: "x", "sk-0123456789abcdef": 1 },
      {
        userId: "u1",
        createdAt: "then",
        lastUsedAt: null,
        plan: "[masked: text of 1 character]",
        "*": "[masked: whole number]",
      },
    ],
    [
      "list_universes",
      { universes: [universe, 7] },
      {
        universes: [
          { ...universe, personas: ["[masked: object of 1 field]"] },
          "[masked: whole number]",
        ],
      },
    ],
    ["get_universe_data", { mail: [] }, "[masked: object of 1 field]"],
    [
      "get_white_label",
      { success: false, data: { secret: "x" }, message: "no key-7f3a91 at https://h/p" },
      {
        success: false,
        data: "[masked: object of 1 field]",
        message: "no [masked] at https://h/[masked]",
      },
    ],
    [
      "get_user",
      { userId: ["x"], createdAt: { a: 1 }, lastUsedAt: 7 },
      {
        userId: "[masked: list of 1 item]",
        createdAt: "[masked: object of 1 field]",
        lastUsedAt: 7,
      },
    ],
    [
      "get_user",
      { "12345@": true, "67890@": [], "*": null },
      { "*": "[masked: true or false]", "* (1)": "[masked: list of 0 items]", "* (2)": null },
    ],
    ["list_universes", ["x"], "[masked: list of 1 item]"],
  ])(
    "of %s shows the fields that are known not to be secret: %j",
    async (...[name, value, shown]) => {
      expect(await mask.response(name, value)).toEqual(shown);
    },
  );

  it("keeps a field called __proto__", async () => {
    const value: JsonValue = JSON.parse('{"__proto__":{"a":1}}');
    const shown = JSON.stringify(await mask.response("get_user", value));
    expect(shown).toBe('{"__proto__":"[masked: object of 1 field]"}');
  });

  it("never shows a value outside the interface, wherever it is", async () => {
    const known = ["local_sandboxes", "servers", "metadata", "auth_data", "personas", "data"];
    const planted = fc.constantFrom<JsonValue>("S3CRET", { a: "S3CRET" }, [["S3CRET"]]);
    const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        planted,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...known, "universes", "other"), tie("tree")),
      ),
    }));
    const names = fc.constantFrom<Operation>(
      "list_sandboxes",
      "get_user",
      "list_universes",
      "get_universe_data",
      "get_white_label",
    );
    await fc.assert(
      fc.asyncProperty(names, tree, async (name, value) => {
        expect(JSON.stringify(await mask.response(name, value))).not.toContain("S3CRET");
      }),
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
    const servers = Array.from({ length: 50_000 }, () => server);
    await mask.response("list_sandboxes", { local_sandboxes: [{ servers }] });
    isDone = true;
    expect(turns).toBeGreaterThan(5);
  });
});
