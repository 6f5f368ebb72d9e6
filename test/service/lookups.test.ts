import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { CallResult } from "../../src/service/client.ts";
import { canStandInPath } from "../../src/service/operations.ts";
import { answerJson, type ClientUnderTest, createTestClient, startPeer, testKey } from "./peer.ts";

type Ask = (under: ClientUnderTest) => Promise<CallResult<unknown>>;
const askUser: Ask = ({ client, call }) => client.getUser(call, "u1");
const askUniverses: Ask = ({ client, call }) => client.listUniverses(call);
const askData: Ask = ({ client, call }) => client.getUniverseData(call, "un1");
const askWhiteLabel: Ask = ({ client, call }) => client.getWhiteLabel(call, "c1");

const universe = {
  universe_id: "un1",
  name: "Atlas",
  description: "Maps",
  domain: "travel",
  personas: [{ name: "Ann" }],
  task_nums: ["1", "2"],
  created_at: "2026-02-16T12:45:25Z",
};
const takenUniverse = {
  universeId: "un1",
  name: "Atlas",
  description: "Maps",
  domain: "travel",
  personas: [{ name: "Ann" }],
  taskNums: ["1", "2"],
  createdAt: "2026-02-16T12:45:25Z",
};

async function askPeer(ask: Ask, body: unknown, status = 200) {
  const peer = await startPeer((_request, response) => answerJson(response, body, status));
  const under = createTestClient(peer.baseUrl);
  return { result: await ask(under), paths: peer.paths, ended: under.ended };
}

test.for([
  ["get_user", askUser, "/user/u1", { userId: "u1", createdAt: "x", lastUsedAt: "y" }],
  ["list_universes", askUniverses, "/universes", { universes: [] }],
  ["get_universe_data", askData, "/universes/un1/initial_data", { git: { files: [] } }],
  ["get_white_label", askWhiteLabel, "/white-labeling/get/c1", { success: true, data: {} }],
] as const)("%s asks for its path", async ([operation, ask, path, body]) => {
  const { result, paths, ended } = await askPeer(ask, body);
  expect(result).toMatchObject({ kind: "ok", status: 200, deviations: [] });
  expect(paths).toEqual([path]);
  expect(ended).toEqual([{ region: "us", operation, code: "200", durationMs: 0 }]);
});

test.for([
  [
    "a user",
    askUser,
    { userId: "u1", createdAt: "then", lastUsedAt: "now" },
    { userId: "u1", createdAt: "then", lastUsedAt: "now" },
    [],
  ],
  [
    "a user never seen",
    askUser,
    { userId: "u1", createdAt: "then", lastUsedAt: null },
    { userId: "u1", createdAt: "then", lastUsedAt: null },
    [],
  ],
  [
    "an odd user",
    askUser,
    { userId: 7, createdAt: null, mail: "x" },
    { userId: null, createdAt: null, lastUsedAt: null },
    ["mail unknown_field 1", "userId wrong_type 1", "createdAt null 1"],
  ],
  ["universes", askUniverses, { universes: [universe] }, [takenUniverse], []],
  [
    "odd universes",
    askUniverses,
    { universes: [7, null, { ...universe, personas: ["Ann", { name: "Bob" }], task_nums: 3 }] },
    [{ ...takenUniverse, personas: [{ name: "Bob" }], taskNums: null }],
    [
      "universes[] wrong_type 1",
      "universes[] null 1",
      "universes[].personas[] wrong_type 1",
      "universes[].task_nums wrong_type 1",
    ],
  ],
  [
    "an empty universe",
    askUniverses,
    { universes: [{}] },
    [Object.fromEntries(Object.keys(takenUniverse).map((field) => [field, null]))],
    Object.keys(universe).map((field) => `universes[].${field} missing 1`),
  ],
  ["universe data", askData, { any: ["thing", null] }, { any: ["thing", null] }, []],
  ["universe data that is null", askData, null, null, []],
  [
    "a white label",
    askWhiteLabel,
    { success: true, data: { name: "Acme" }, message: null },
    { success: true, data: { name: "Acme" }, message: null },
    [],
  ],
  [
    "no white label",
    askWhiteLabel,
    { success: false, data: null, message: "unknown client" },
    { success: false, data: null, message: "unknown client" },
    [],
  ],
  [
    "an odd white label",
    askWhiteLabel,
    { success: "yes", data: [], message: 1 },
    { success: null, data: null, message: null },
    ["success wrong_type 1", "data wrong_type 1", "message wrong_type 1"],
  ],
] as const)("%s is taken as it is, with what is odd as null", async ([, ask, body, value, odd]) => {
  const { result } = await askPeer(ask, body);
  expect(result).toMatchObject({ kind: "ok", value });
  const deviations = result.kind === "ok" ? result.deviations : [];
  expect(deviations.map((each) => `${each.field} ${each.problem} ${each.count}`)).toEqual(odd);
});

test.for([
  ["a user", askUser, []],
  ["universes", askUniverses, { universes: {} }],
  ["bare universes", askUniverses, []],
  ["a white label", askWhiteLabel, "no"],
] as const)("%s of another overall shape is an invalid body", async ([, ask, body]) => {
  const { result } = await askPeer(ask, body);
  expect(result).toMatchObject({ kind: "failed", reason: "invalid_body", status: 200 });
});

test("the path of the base address is kept, with and without a slash at its end", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, {}));
  for (const suffix of ["/us", "/us/", "/deep/er"]) {
    await askUser(createTestClient(peer.baseUrl + suffix));
  }
  expect(peer.paths).toEqual(["/us/user/u1", "/us/user/u1", "/deep/er/user/u1"]);
});

test("any id reaches the service as that id and no other route", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, {}));
  const { client, call } = createTestClient(`${peer.baseUrl}/us`);
  const special = fc.constantFrom(
    "../x",
    "a/b",
    "a?b",
    "a#b",
    "%2e%2e",
    "...",
    "\\..\\",
    "é\n\0 +",
  );
  const id = fc.oneof(special, fc.string({ unit: "binary" }), fc.string()).filter(canStandInPath);
  await fc.assert(
    fc.asyncProperty(id, async (each) => {
      await client.getUser(call, each);
      await client.getUniverseData(call, each);
      await client.getWhiteLabel(call, each);
      const urls = peer.paths.slice(-3).map((path) => new URL(path, peer.baseUrl));
      expect(urls.map(({ search, hash }) => search + hash)).toEqual(["", "", ""]);
      expect(urls.map(({ pathname }) => pathname.split("/").map(decodeURIComponent))).toEqual([
        ["", "us", "user", each],
        ["", "us", "universes", each, "initial_data"],
        ["", "us", "white-labeling", "get", each],
      ]);
    }),
    { numRuns: 40 },
  );
});

test.for(["", ".", "..", "\ud800"])("an id %j is wrong use and asks nothing", async (id) => {
  const peer = await startPeer((_request, response) => answerJson(response, {}));
  const { client, call } = createTestClient(peer.baseUrl);
  await expect(client.getUser(call, id)).rejects.toThrow(RangeError);
  await expect(client.getUniverseData(call, id)).rejects.toThrow(RangeError);
  await expect(client.getWhiteLabel(call, id)).rejects.toThrow(RangeError);
  expect(peer.paths).toEqual([]);
});

test("the entries of a 422 are told without the input and its context", async () => {
  const entry = {
    loc: ["path", "userId", 3],
    msg: "Input should be a UUID",
    type: "uuid_parsing",
    input: "marker-input",
    ctx: { error: "marker-ctx" },
  };
  const { result, ended } = await askPeer(askUser, { detail: [entry] }, 422);
  expect(result).toEqual({
    kind: "failed",
    reason: "http_error",
    status: 422,
    retryAfterMs: null,
    detail: "HTTP 422",
    validation: [
      { loc: ["path", "userId", 3], msg: "Input should be a UUID", type: "uuid_parsing" },
    ],
  });
  expect(ended).toMatchObject([{ code: "422" }]);
});

test.for([
  ["no entries", { detail: "bad" }, []],
  ["odd entries", { detail: [null, 7, {}] }, [{ loc: [], msg: "", type: "" }]],
  ["odd parts", { detail: [{ loc: [{}, "a"], msg: 1 }] }, [{ loc: ["a"], msg: "", type: "" }]],
  [
    "the key repeated",
    { detail: [{ loc: [testKey], msg: `key ${testKey}`, type: "t" }] },
    [{ loc: ["[secret]"], msg: "key [secret]", type: "t" }],
  ],
] as const)("a 422 with %s is told as far as it goes", async ([, body, validation]) => {
  const { result } = await askPeer(askUser, body, 422);
  expect(result).toMatchObject({ reason: "http_error", status: 422, validation });
});

test("any JSON in any answer ends in a value or a named failure, which never repeats the key", async () => {
  let next = { status: 200, body: "" };
  const peer = await startPeer((_request, response) => {
    response.writeHead(next.status);
    response.end(next.body);
  });
  const under = createTestClient(peer.baseUrl);
  const wrapped = fc.oneof(
    fc.jsonValue(),
    fc.jsonValue().map((each) => ({ universes: [each] })),
    fc.jsonValue().map((each) => ({ detail: [each, { msg: each, loc: each, input: testKey }] })),
  );
  const status = fc.constantFrom(200, 200, 404, 422, 500);
  const askListing: Ask = ({ client, call }) => client.listSandboxes(call);
  const asks = [askListing, askUser, askUniverses, askData, askWhiteLabel];
  await fc.assert(
    fc.asyncProperty(wrapped, status, async (body, code) => {
      next = { status: code, body: JSON.stringify(body) };
      for (const ask of asks) {
        const result = await ask(under);
        expect(result.kind === "ok" ? "ok" : result.reason).toMatch(
          /^(ok|invalid_body|http_error|server_error)$/,
        );
        const told = result.kind === "failed" ? JSON.stringify(result) : "";
        expect(told).not.toContain(testKey);
      }
    }),
    { numRuns: 40 },
  );
});
