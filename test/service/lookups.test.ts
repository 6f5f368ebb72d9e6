import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/service/json-value.ts";
import { canStandInPath, type Lookup } from "../../src/service/operations.ts";
import {
  readListing,
  readUniverses,
  readUser,
  readWhiteLabel,
} from "../../src/service/responses.ts";
import { answerJson, createTestClient, startPeer, testKey } from "./peer.ts";
import { sandbox, server } from "./support/listings.ts";

const user: Lookup = { operation: "get_user", id: "u1" };
const universes: Lookup = { operation: "list_universes" };
const whiteLabel: Lookup = { operation: "get_white_label", id: "c1" };

async function look(lookup: Lookup, body: unknown, status = 200) {
  const peer = await startPeer((_request, response) => answerJson(response, body, status));
  const { client, call, ended } = createTestClient(peer.baseUrl);
  return { result: await client.look(call, lookup), paths: peer.paths, ended };
}

describe("a look-up", () => {
  it.each<[Lookup, string, object]>([
    [
      { operation: "list_sandboxes" },
      "/local-sandbox",
      { local_sandboxes: [{ more: { auth_data: "x" } }], total_count: 1, more: 1 },
    ],
    [universes, "/universes", { universes: [{ name: 7, more: null }], more: [] }],
    [user, "/user/u1", { userId: 7, more: {} }],
    [
      { operation: "get_universe_data", id: "un1" },
      "/universes/un1/initial_data",
      { more: [1, "x"] },
    ],
    [whiteLabel, "/white-labeling/get/c1", { success: "perhaps", more: true }],
  ])("gives all that came: %j", async (lookup, path, body) => {
    const { result, paths, ended } = await look(lookup, body);
    expect(result).toMatchObject({ kind: "ok", status: 200, value: body });
    expect(paths).toEqual([path]);
    const { operation } = lookup;
    expect(ended).toEqual([{ region: "us", operation, code: "200", durationMs: 0 }]);
  });

  it.each<[Lookup, unknown]>([
    [user, []],
    [universes, { universes: {} }],
    [universes, []],
    [whiteLabel, "no"],
    [{ operation: "list_sandboxes" }, { local_sandboxes: {}, total_count: 1 }],
  ])("of another overall shape is an invalid body: %j, %j", async (lookup, body) => {
    const { result } = await look(lookup, body);
    expect(result).toMatchObject({ kind: "failed", reason: "invalid_body", status: 200 });
  });

  it("asks for any id as that id and no other route", async () => {
    const peer = await startPeer((_request, response) => answerJson(response, {}));
    const { client, call } = createTestClient(`${peer.baseUrl}/us`);
    const special = ["../x", "a/b", "a?b", "a#b", "%2e%2e", "...", "\\..\\", "é\n\0 +"];
    const id = fc
      .oneof(fc.constantFrom(...special), fc.string({ unit: "binary" }), fc.string())
      .filter(canStandInPath);
    await fc.assert(
      fc.asyncProperty(id, async (each) => {
        await client.look(call, { operation: "get_universe_data", id: each });
        const { search, hash, pathname } = new URL(peer.paths.at(-1) ?? "", peer.baseUrl);
        expect(search + hash).toBe("");
        const parts = pathname.split("/").map(decodeURIComponent);
        expect(parts).toEqual(["", "us", "universes", each, "initial_data"]);
      }),
      { numRuns: 40 },
    );
  });

  it.each(["", ".", "..", "\ud800"])("of the id %j is wrong use and asks nothing", async (id) => {
    const peer = await startPeer((_request, response) => answerJson(response, {}));
    const { client, call } = createTestClient(peer.baseUrl);
    const lookup = { operation: "get_user", id } as const;
    await expect(client.look(call, lookup)).rejects.toThrow(RangeError);
    expect(peer.paths).toEqual([]);
  });

  it("of any JSON is a value or a named failure, which never repeats the key", async () => {
    let next = { status: 200, body: "" };
    const peer = await startPeer((_request, response) =>
      response.writeHead(next.status).end(next.body),
    );
    const { client, call } = createTestClient(peer.baseUrl);
    const wrapped = fc.oneof(
      fc.jsonValue(),
      fc.jsonValue().map((each) => ({ universes: [each] })),
      fc.jsonValue().map((each) => ({ detail: [each, { msg: each, loc: each, input: testKey }] })),
    );
    const statuses = fc.constantFrom(200, 200, 403, 404, 422, 503);
    await fc.assert(
      fc.asyncProperty(wrapped, statuses, async (body, status) => {
        next = { status, body: JSON.stringify(body) };
        const results = [await client.listSandboxes(call), await client.look(call, universes)];
        for (const lookup of [user, whiteLabel]) results.push(await client.look(call, lookup));
        const failures = results.filter(({ kind }) => kind === "failed");
        expect(JSON.stringify(failures)).not.toContain(testKey);
        for (const result of results) {
          const how = result.kind === "ok" ? "ok" : result.reason;
          expect(how).toMatch(/^(ok|invalid_body|auth|http_error|server_error)$/);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("the entries of a 422", () => {
  const entry = { loc: ["path", "userId", 3], msg: "should be a UUID", type: "uuid_parsing" };
  it.each([
    ["input and context", { detail: [{ ...entry, input: "i", ctx: { error: "c" } }] }, [entry]],
    ["no entries", { detail: "bad" }, []],
    ["odd entries", { detail: [null, 7, {}] }, [{ loc: [], msg: "", type: "" }]],
    ["odd parts", { detail: [{ loc: [{}, "a"], msg: 1 }] }, [{ loc: ["a"], msg: "", type: "" }]],
    [
      "the key repeated",
      { detail: [{ loc: [testKey], msg: `key ${testKey}`, type: "t" }] },
      [{ loc: ["[secret]"], msg: "key [secret]", type: "t" }],
    ],
  ])("are taken as far as possible, without what may be secret: %s", async (_, body, entries) => {
    const { result } = await look(user, body, 422);
    expect(result).toEqual({
      kind: "failed",
      reason: "http_error",
      status: 422,
      retryAfterMs: null,
      detail: "HTTP 422",
      validation: entries,
      deviations: result.deviations,
    });
  });
});

describe("a typed response", () => {
  const universe = {
    universe_id: "un1",
    name: "Atlas",
    description: "Maps",
    domain: "travel",
    personas: ["Ann", { name: "Bob" }],
    task_nums: ["1", 2],
    created_at: 7,
  };
  const oddServer = { ...server, id: 7, tags: ["a", 1], auth_data: "x", metadata: [], more: 1 };
  const taken = {
    id: server.id,
    serverName: server.server_name,
    mcpServerUrl: server.mcp_server_url,
    status: server.status,
    benchmark: server.benchmark,
    updatedAt: server.updated_at,
    metadata: server.metadata,
    authData: server.auth_data,
    tags: server.tags,
  };
  const nothing = { localSandboxId: null, createdAt: null, status: null, benchmark: null };

  it.each<[(body: JsonValue) => unknown, JsonValue, unknown]>([
    [
      readUser,
      { userId: "u\ud800", createdAt: null, mail: "x" },
      { userId: "u\ufffd", createdAt: null, lastUsedAt: null },
    ],
    [
      readUniverses,
      { universes: [7, null, universe] },
      [
        {
          universeId: "un1",
          name: "Atlas",
          description: "Maps",
          domain: "travel",
          personas: [{ name: "Bob" }],
          taskNums: ["1"],
          createdAt: null,
        },
      ],
    ],
    [
      readWhiteLabel,
      { success: false, data: [], message: "unknown client" },
      { success: false, data: null, message: "unknown client" },
    ],
    [
      readListing,
      {
        local_sandboxes: [{ ...sandbox, servers: [server, oddServer, null] }, { servers: {} }, 7],
        total_count: 3,
      },
      {
        totalCount: 3,
        sandboxes: [
          {
            localSandboxId: sandbox.local_sandbox_id,
            createdAt: sandbox.created_at,
            status: sandbox.status,
            benchmark: null,
            servers: [taken, { ...taken, id: null, tags: ["a"], authData: null, metadata: null }],
          },
          { ...nothing, servers: null },
        ],
      },
    ],
    [readListing, { local_sandboxes: [], total_count: 0.5 }, { sandboxes: [], totalCount: null }],
  ])("has every field, with what is odd as null: %o", (readBody, body, value) => {
    expect(readBody(body)).toEqual(value);
  });
});
