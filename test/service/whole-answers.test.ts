import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Lookup, lookupPath } from "../../src/service/operations.ts";
import { canStandInPath } from "../../src/service/operations.ts";
import { readPathId, routeOf } from "../../src/simulator/answers.ts";
import { answerJson, createTestClient, startPeer } from "./peer.ts";
import { sandbox, server } from "./wire.ts";

const lookups: readonly Lookup[] = [
  { operation: "list_sandboxes" },
  { operation: "list_universes" },
  { operation: "get_user", id: "u1" },
  { operation: "get_universe_data", id: "un1" },
  { operation: "get_white_label", id: "c1" },
];

/** Reads a whole listing that has this body. */
async function readListing(body: unknown) {
  const peer = await startPeer((_request, response) => answerJson(response, body));
  const { client, call } = createTestClient(peer.baseUrl);
  return client.readListing(call);
}

test("a look-up gives all that came, of every operation", async () => {
  const answers: Readonly<Record<string, object>> = {
    "/local-sandbox": { local_sandboxes: [{ more: { auth_data: "x" } }], total_count: 1, more: 1 },
    "/universes": { universes: [{ name: 7, more: null }], more: [] },
    "/user/u1": { userId: 7, more: {} },
    "/universes/un1/initial_data": { more: [1, "x"] },
    "/white-labeling/get/c1": { success: "perhaps", more: true },
  };
  const peer = await startPeer(({ url = "" }, response) => answerJson(response, answers[url]));
  const { client, call } = createTestClient(peer.baseUrl);
  const values = [];
  for (const lookup of lookups) {
    const result = await client.look(call, lookup);
    values.push(result.kind === "ok" ? result.value : result);
  }
  expect(values).toEqual(Object.values(answers));
  expect(peer.paths).toEqual(Object.keys(answers));
});

test("a whole listing is taken with every field, with what is odd as null", async () => {
  const odd = { ...server, id: 7, tags: ["a", 1], auth_data: "x", metadata: [], more: 1 };
  const body = {
    local_sandboxes: [{ ...sandbox, servers: [server, odd, null] }, { servers: {} }, 7],
    total_count: 3,
  };
  const result = await readListing(body);
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
  expect(result).toMatchObject({
    kind: "ok",
    value: {
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
  });
});

test.for([null, "0", 0.5, undefined, []])(
  "a whole listing whose total_count is %j has none",
  async (totalCount) => {
    expect(await readListing({ local_sandboxes: [], total_count: totalCount })).toMatchObject({
      kind: "ok",
      value: { sandboxes: [], totalCount: null },
    });
  },
);

test.for([[], { local_sandboxes: {}, total_count: 1 }, { total_count: 0 }] as const)(
  "a whole listing of another overall shape is an invalid body: %j",
  async (body) => {
    expect(await readListing(body)).toMatchObject({ kind: "failed", reason: "invalid_body" });
  },
);

test("an id that reaches the simulated service is that id, whatever it is made of", () => {
  const id = fc.oneof(fc.string({ unit: "binary" }), fc.string()).filter(canStandInPath);
  fc.assert(
    fc.property(id, (each) => {
      const path = lookupPath({ operation: "get_user", id: each });
      const route = routeOf(`/us${path}`, ["us"]);
      expect(route).toMatchObject({ region: "us", operation: "get_user" });
      const read = readPathId(route?.rawId ?? "", "userId");
      expect(read.kind === "valid" ? read.id : read.entry.input).toBe(each);
    }),
    { numRuns: 500 },
  );
});

test("any JSON as any answer is a look-up's value or a named failure", async () => {
  let next = { status: 200, body: "" };
  const peer = await startPeer((_request, response) => {
    response.writeHead(next.status);
    response.end(next.body);
  });
  const { client, call } = createTestClient(peer.baseUrl);
  const body = fc.oneof(
    fc.jsonValue(),
    fc.jsonValue().map((each) => ({ universes: [each] })),
    fc
      .jsonValue()
      .map((each) => ({ local_sandboxes: [each, { servers: [each] }], total_count: 2 })),
  );
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(200, 200, 403, 404, 422, 503), async (value, status) => {
      next = { status, body: JSON.stringify(value) };
      const listing = await client.readListing(call);
      const reasons: string[] = [listing.kind === "ok" ? "ok" : listing.reason];
      for (const lookup of lookups) {
        const result = await client.look(call, lookup);
        const expected = result.kind === "ok" ? JSON.parse(next.body) : status;
        expect(result.kind === "ok" ? result.value : result.status).toEqual(expected);
        reasons.push(result.kind === "ok" ? "ok" : result.reason);
      }
      for (const reason of reasons) {
        expect(reason).toMatch(/^(ok|invalid_body|auth|http_error|server_error)$/);
      }
    }),
    { numRuns: 40 },
  );
});
