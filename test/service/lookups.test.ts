import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/service/json-value.ts";
import type { Lookup } from "../../src/service/operations.ts";
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
