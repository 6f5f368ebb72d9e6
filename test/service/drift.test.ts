import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Deviation } from "../../src/fleet/deviation.ts";
import type { Drift } from "../../src/fleet/drift.ts";
import { createDeviations } from "../../src/service/deviations.ts";
import { createNotFoundHistory } from "../../src/service/not-found.ts";
import { answerJson, type ClientUnderTest, createTestClient, startPeer, testKey } from "./peer.ts";
import { listing, sandbox, server } from "./wire.ts";

const inServer = (odd: object) => listing([{ ...sandbox, servers: [{ ...server, ...odd }] }]);
const servers = "local_sandboxes[].servers[]";

type Ask = (under: ClientUnderTest) => Promise<unknown>;
const askListing: Ask = ({ client, call }) => client.listSandboxes(call);
const askUser: Ask = ({ client, call }) => client.getUser(call, "u1");
const askUniverses: Ask = ({ client, call }) => client.listUniverses(call);
const askData: Ask = ({ client, call }) => client.getUniverseData(call, "un1");

/** What the client tells of drift, in words. */
async function driftOf(ask: Ask, body: unknown, status = 200): Promise<readonly string[]> {
  const peer = await startPeer((_request, response) => answerJson(response, body, status));
  const heard: Drift[] = [];
  await ask(createTestClient(peer.baseUrl, { onDrift: (drift) => heard.push(drift) }));
  return heard.flatMap(({ region, operation, deviations }) =>
    deviations.map((each) => `${region} ${operation} ${inWords(each)}`),
  );
}

function inWords({ field, problem, count, example }: Deviation): string {
  return `${field} ${problem} ${count}: ${example}`;
}

test.for([
  [
    "a new field",
    askListing,
    inServer({ gpu: { count: 2, model: "x" } }),
    [`list_sandboxes ${servers}.gpu unknown_field 1: object of 2 fields`],
  ],
  [
    "a new field of the whole",
    askListing,
    { ...listing([]), next: "cursor-7f3a" },
    ["list_sandboxes next unknown_field 1: text of 11 characters"],
  ],
  [
    "a new word",
    askListing,
    inServer({ status: "hibernating" }),
    [`list_sandboxes ${servers}.status unknown_value 1: "hibernating"`],
  ],
  [
    "what is no word",
    askListing,
    inServer({ status: "sk-7f3a91" }),
    [`list_sandboxes ${servers}.status unknown_value 1: text`],
  ],
  [
    "a changed type",
    askListing,
    inServer({ updated_at: 1_771_274_725 }),
    [`list_sandboxes ${servers}.updated_at wrong_type 1: whole number`],
  ],
  ["a missing field", askUser, { createdAt: "then" }, ["get_user userId missing 1: null"]],
  [
    "another time",
    askUniverses,
    {
      universes: [
        {
          universe_id: "u",
          name: "n",
          description: "d",
          domain: "d",
          personas: [],
          task_nums: [],
          created_at: "Monday",
        },
      ],
    },
    ["list_universes universes[].created_at wrong_format 1: text of 6 characters"],
  ],
  [
    "a listing without what it must have",
    askListing,
    { sandboxes: [1, 2] },
    [
      "list_sandboxes sandboxes unknown_field 1: list of 2 items",
      "list_sandboxes local_sandboxes missing 1: null",
      "list_sandboxes total_count missing 1: null",
    ],
  ],
  [
    "a listing of another type",
    askListing,
    { local_sandboxes: {}, total_count: 0 },
    ["list_sandboxes local_sandboxes wrong_type 1: object of 0 fields"],
  ],
  ["a bare list", askListing, [1], ["list_sandboxes (answer) wrong_type 1: list of 1 item"]],
  ["a bare text", askUser, "hello", ["get_user (answer) wrong_type 1: text of 5 characters"]],
  [
    "universes that are none",
    askUniverses,
    { universes: 7 },
    ["list_universes universes wrong_type 1: whole number"],
  ],
  ["any universe data", askData, { any: "thing" }, []],
] as const)("%s is told as drift", async ([, ask, body, told]) => {
  expect(await driftOf(ask, body)).toEqual(told.map((each) => `us ${each}`));
});

test("the entries of a 422 are held against the interface, too", async () => {
  const entry = { loc: ["path", 0.5], msg: "bad", type: "t", input: testKey, url: "https://x/" };
  expect(await driftOf(askUser, { detail: [entry] }, 422)).toEqual([
    "us get_user detail[].url unknown_field 1: text of 10 characters",
    "us get_user detail[].loc[] wrong_type 1: number",
  ]);
});

test("what is as promised is not told", async () => {
  expect(await driftOf(askListing, inServer({}))).toEqual([]);
});

const secret = "T0PSECRET";

test("no value is ever in what is told, whatever stands where", async () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom(secret, `${secret}-1`, { [secret]: secret }, [secret]),
  );
  const odd = fc.dictionary(
    fc.constantFrom(...Object.keys(server), ...Object.keys(sandbox), "extra"),
    value,
    { noNullPrototype: true },
  );
  let body: unknown = null;
  const peer = await startPeer((_request, response) => answerJson(response, body));
  const heard: Drift[] = [];
  const under = createTestClient(peer.baseUrl, { onDrift: (drift) => heard.push(drift) });
  await fc.assert(
    fc.asyncProperty(odd, odd, async (ofSandbox, ofServer) => {
      const odds = [{ ...server, ...ofServer }];
      body = listing([{ ...sandbox, servers: odds, ...ofSandbox }]);
      await askListing(under);
      expect(JSON.stringify(heard)).not.toContain(secret);
    }),
    { numRuns: 100 },
  );
  expect(heard.length).toBeGreaterThan(50);
});

test.for([
  ["550e8400-e29b-41d4-a716-446655440000", "*"],
  ["ann@example.com", "*"],
  ["user_1234567", "*"],
  ["sk_live_9aF3kQ0zLm2Xb7Vt5Yc1", "*"],
  ["gpu_count", "gpu_count"],
  ["über\n", "?ber?"],
])("an unknown field called %j is told as %s", ([name = "", told]) => {
  const deviations = createDeviations();
  deviations.noteUnknown("a.", name, 1);
  expect(deviations.list()).toMatchObject([{ field: `a.${told}`, problem: "unknown_field" }]);
});

test("of invented names and words only a few are told apart, and all are counted", () => {
  const deviations = createDeviations();
  for (let at = 0; at < 1000; at++) {
    const word = Array.from(String(at), (digit) => "abcdefghij"[Number(digit)]).join("");
    deviations.noteUnknown("", word, at);
    deviations.note("status", "unknown_value", word);
  }
  const listed = deviations.list();
  expect(listed).toHaveLength(42);
  expect(listed.reduce((sum, { count }) => sum + count, 0)).toBe(2000);
  expect(listed).toContainEqual({
    field: "other",
    problem: "unknown_field",
    count: 980,
    example: "whole number",
  });
  expect(listed).toContainEqual({
    field: "status",
    problem: "unknown_value",
    count: 980,
    example: "text",
  });
});

describe("a 404", () => {
  const notFound = { detail: "Not Found" };
  const specific = { detail: "There is no such user" };

  it("means that the operation is missing where no id is asked for", () => {
    expect(createNotFoundHistory().notFound(null, specific)).toBe("operation_missing");
  });

  it("means an unknown id when it says more than that there is nothing", () => {
    const history = createNotFoundHistory();
    for (const id of ["a", "b", "c", "d"]) {
      expect(history.notFound(id, specific)).toBe("unknown_id");
    }
  });

  it("that is no JSON comes from where the operation is not", () => {
    expect(createNotFoundHistory().notFound("a", undefined)).toBe("operation_missing");
  });

  it("is unclear at first, and the operation is missing once several ids are unknown", () => {
    const history = createNotFoundHistory();
    const ids = ["a", "b", "b", "a", "c", "a"];
    expect(ids.map((id) => history.notFound(id, notFound))).toEqual([
      "unclear",
      "unclear",
      "unclear",
      "unclear",
      "operation_missing",
      "operation_missing",
    ]);
  });

  it("means an unknown id where the operation has answered, however many ids are unknown", () => {
    const history = createNotFoundHistory();
    history.answered("known");
    for (let at = 0; at < 10; at++) {
      expect(history.notFound(`id-${at}`, notFound)).toBe("unknown_id");
      expect(history.notFound(`id-${at}`, undefined)).toBe("unknown_id");
    }
  });

  it("means that the operation is gone when what it knew is unknown as well", () => {
    const history = createNotFoundHistory();
    history.answered("known");
    expect(["known", "a", "b", "c"].map((id) => history.notFound(id, notFound))).toEqual([
      "unknown_id",
      "unknown_id",
      "operation_missing",
      "operation_missing",
    ]);
    history.answered("known");
    expect(history.notFound("c", notFound)).toBe("unknown_id");
  });

  it.each(["not found", "404: Not Found", "Page not found.", "resource not found"])(
    "with the text %j says nothing of the id",
    (detail) => {
      expect(createNotFoundHistory().notFound("a", { detail })).toBe("unclear");
    },
  );
});

test("an operation that is not there is told from an id that is unknown", async () => {
  const peer = await startPeer((request, response) => {
    const isUser = request.url?.startsWith("/user/") ?? false;
    answerJson(response, { detail: isUser ? "No user of this id" : "Not Found" }, 404);
  });
  const heard: Drift[] = [];
  const { client, call } = createTestClient(peer.baseUrl, {
    onDrift: (drift) => heard.push(drift),
  });
  expect(await client.getUser(call, "u1")).toMatchObject({
    detail: "HTTP 404: nothing is known by this id",
  });
  expect(await client.listUniverses(call)).toMatchObject({
    detail: "HTTP 404: there is no such operation at this base address",
  });
  expect(await client.getWhiteLabel(call, "c1")).toMatchObject({
    detail: "HTTP 404: nothing is known by this id, or there is no such operation",
  });
  await client.getWhiteLabel(call, "c2");
  expect(await client.getWhiteLabel(call, "c3")).toMatchObject({
    detail: "HTTP 404: there is no such operation at this base address",
  });
  expect(heard.map(({ operation, deviations }) => [operation, ...deviations.map(inWords)])).toEqual(
    [
      ["list_universes", "(answer) operation_missing 1: null"],
      ["get_white_label", "(answer) operation_missing 1: null"],
    ],
  );
});

test.for([
  [undefined, "to nowhere"],
  ["https://other.example.com/?token=T0PSECRET", "to another host, which is not followed"],
  ["/elsewhere?token=T0PSECRET", "to another path on the same host, which is not followed"],
  ["/us/universes/", "to the same path with a slash, which is not followed"],
  ["https://HOST/us/universes", "to https on the same host, which is not followed"],
  ["http://[", "to what is no address"],
] as const)("a redirect to %s is told as one %s", async ([location, direction]) => {
  const peer = await startPeer((request, response) => {
    const to = location?.replace("HOST", request.headers.host ?? "");
    response.writeHead(307, to === undefined ? {} : { location: to }).end();
  });
  const heard: Drift[] = [];
  const { client, call } = createTestClient(`${peer.baseUrl}/us/`, {
    onDrift: (drift) => heard.push(drift),
  });
  const result = await client.listUniverses(call);
  expect(result).toMatchObject({
    kind: "failed",
    reason: "http_error",
    status: 307,
    detail: `HTTP 307: a redirect ${direction}`,
  });
  expect(JSON.stringify([result, heard])).not.toContain(secret);
  expect(heard).toMatchObject([{ deviations: [{ field: "(answer)", problem: "redirected" }] }]);
  expect(peer.paths).toHaveLength(1);
});
