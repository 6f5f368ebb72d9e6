import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Deviation } from "../../src/fleet/deviation.ts";
import type { Drift } from "../../src/fleet/drift.ts";
import { Deviations } from "../../src/service/deviations.ts";
import type { Lookup } from "../../src/service/operations.ts";
import {
  keptListingSchema,
  keptSandboxSchema,
  universesSchema,
} from "../../src/service/schemas.ts";
import { createWalker } from "../../src/service/walker.ts";
import { answerJson, createTestClient, type Handler, startPeer, testKey } from "./peer.ts";
import { listing, read, sandbox, server, withServer } from "./support/listings.ts";

const servers = "local_sandboxes[].servers[]";
const secret = "T0PSECRET";

/** A client of a service, and the drift that it reports. */
async function startDrift(handler: Handler, path = "") {
  const peer = await startPeer(handler);
  const drifts: Drift[] = [];
  const under = createTestClient(peer.baseUrl + path, { onDrift: (drift) => drifts.push(drift) });
  return { ...under, peer, drifts };
}

/** What is reported, in words, where the service answers like this. */
async function driftOf(lookup: Lookup | null, body: unknown, status = 200) {
  const { client, call, drifts } = await startDrift((_request, response) =>
    answerJson(response, body, status),
  );
  if (lookup) await client.look(call, lookup);
  else await client.listSandboxes(call);
  return drifts.flatMap(({ region, operation, deviations }) =>
    deviations.map((each) => `${region} ${operation} ${inWords(each)}`),
  );
}

function inWords({ field, problem, count, example }: Deviation): string {
  return `${field} ${problem} ${count}: ${example}`;
}

const askUser: Lookup = { operation: "get_user", id: "u1" };
const askUniverses: Lookup = { operation: "list_universes" };
const askData: Lookup = { operation: "get_universe_data", id: "un1" };

describe("drift", () => {
  it.each<[string, Lookup | null, unknown, readonly string[]]>([
    ["a listing as promised", null, withServer({}), []],
    [
      "a new field",
      null,
      withServer({ gpu: { count: 2, model: "x" } }),
      [`list_sandboxes ${servers}.gpu unknown_field 1: object of 2 fields`],
    ],
    [
      "a new word",
      null,
      withServer({ status: "hibernating" }),
      [`list_sandboxes ${servers}.status unknown_value 1: "hibernating"`],
    ],
    [
      "what is no word",
      null,
      withServer({ status: "sk-7f3a91" }),
      [`list_sandboxes ${servers}.status unknown_value 1: text`],
    ],
    [
      "a changed type",
      null,
      withServer({ updated_at: 1_771_274_725 }),
      [`list_sandboxes ${servers}.updated_at wrong_type 1: whole number`],
    ],
    ["a missing field", askUser, { createdAt: "then" }, ["get_user userId missing 1: null"]],
    [
      "another form of time",
      askUniverses,
      {
        universes: [
          {
            ...{ universe_id: "u", name: "n", description: "d", domain: "d" },
            ...{ personas: [], task_nums: [], created_at: "Monday" },
          },
        ],
      },
      ["list_universes universes[].created_at wrong_format 1: text of 6 characters"],
    ],
    [
      "a listing without what it must have",
      null,
      { sandboxes: [1, 2] },
      [
        "list_sandboxes sandboxes unknown_field 1: list of 2 items",
        "list_sandboxes local_sandboxes missing 1: null",
        "list_sandboxes total_count missing 1: null",
      ],
    ],
    ["a bare list", null, [1], ["list_sandboxes (answer) wrong_type 1: list of 1 item"]],
    ["a bare text", askUser, "hello", ["get_user (answer) wrong_type 1: text of 5 characters"]],
    ["any universe data", askData, { any: "thing" }, []],
  ])("of %s is reported", async (_, lookup, body, reported) => {
    expect(await driftOf(lookup, body)).toEqual(reported.map((each) => `us ${each}`));
  });

  it.each([
    [422, { detail: [{ loc: ["path", "userId", 0], msg: "bad", type: "string_type" }] }],
    [422, {}],
    [400, { detail: "Bad request" }],
    [401, { detail: "Not authenticated" }],
    [404, { detail: "User not found" }],
    [429, { detail: "Too many requests" }],
    [503, "<html>"],
  ])("is no %i with the body %j", async (status, body) => {
    expect(await driftOf(askUser, body, status)).toEqual([]);
    if (status !== 404) expect(await driftOf(null, body, status)).toEqual([]);
  });

  it("is found in the entries of a 422, too", async () => {
    const entry = { loc: ["path", 0.5], msg: "bad", type: "t", input: testKey, url: "https://x/" };
    expect(await driftOf(askUser, { detail: [entry] }, 422)).toEqual([
      "us get_user detail[].url unknown_field 1: text of 10 characters",
      "us get_user detail[].loc[] wrong_type 1: number",
    ]);
  });

  it("never holds a value, whatever the service answers", async () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(secret, `${secret}-1`, { [secret]: secret }, [secret]),
    );
    const names = [...Object.keys(server), ...Object.keys(sandbox), "extra"];
    const odd = fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true });
    let reported = 0;
    fc.assert(
      fc.property(odd, odd, (ofSandbox, ofServer) => {
        const odds = [{ ...server, ...ofServer }];
        const { deviations } = read(listing([{ ...sandbox, servers: odds, ...ofSandbox }]));
        expect(JSON.stringify(deviations)).not.toContain(secret);
        reported += deviations.length;
      }),
      { numRuns: 200 },
    );
    expect(reported).toBeGreaterThan(100);
  });

  it("of every item of a large listing is counted", () => {
    const { id, ...nameless } = server;
    const odd = [nameless, { ...server, id: `${id}2`, status: "resting", shape: "new" }];
    const sandboxes = Array.from({ length: 3000 }, (_, at) => ({
      ...sandbox,
      local_sandbox_id: `s${at}`,
      created_at: null,
      servers: odd,
    }));
    const { deviations } = read(listing(sandboxes));
    expect(deviations.map(({ field, problem, count }) => [field, problem, count])).toEqual([
      ["local_sandboxes[].created_at", "null", 3000],
      [`${servers}.id`, "missing", 3000],
      [`${servers}.shape`, "unknown_field", 3000],
      [`${servers}.status`, "unknown_value", 3000],
    ]);
  });
});

describe("an unknown field", () => {
  it.each([
    ["550e8400-e29b-41d4-a716-446655440000", "*"],
    ["ann@example.com", "*"],
    ["user_1234567", "*"],
    ["sk_live_9aF3kQ0zLm2Xb7Vt5Yc1", "*"],
    ["gpu_count", "gpu_count"],
    ["über\n", "?ber?"],
    ["n".repeat(1_000), "n".repeat(64)],
  ])("called %j is reported as %s", (name, reported) => {
    const deviations = new Deviations();
    deviations.noteUnknown("a.", name, 1);
    expect(deviations.list()).toMatchObject([{ field: `a.${reported}`, problem: "unknown_field" }]);
  });

  it("or a new word is counted apart up to a limit, beyond that together", () => {
    const deviations = new Deviations();
    for (let at = 0; at < 1000; at++) {
      const word = Array.from(String(at), (digit) => "abcdefghij"[Number(digit)]).join("");
      deviations.noteUnknown("", word, at);
      deviations.note("status", "unknown_value", word);
    }
    const listed = deviations.list();
    expect(listed).toHaveLength(42);
    expect(listed.filter(({ count }) => count > 1)).toEqual([
      { field: "status", problem: "unknown_value", count: 980, example: "text" },
      { field: "other", problem: "unknown_field", count: 980, example: "whole number" },
    ]);
  });
});

describe("a walker", () => {
  const anyValue = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom("", "idle", "x".repeat(256), "x".repeat(257), "x".repeat(513), -1e300),
  );
  const object = (names: readonly string[], values: Record<string, fc.Arbitrary<unknown>> = {}) =>
    fc.record(
      Object.fromEntries(names.map((name) => [name, fc.oneof(anyValue, values[name] ?? anyValue)])),
      { requiredKeys: [] },
    );
  const anyServer = object(["id", "status", "benchmark", "updated_at", "metadata", "tags"], {
    tags: fc.array(anyValue, { maxLength: 3 }),
  });
  const anySandbox = object(["local_sandbox_id", "created_at", "status", "servers"], {
    servers: fc.array(fc.oneof(anyValue, anyServer), { maxLength: 3 }),
  });

  /** Each path that zod refuses once, such as `local_sandboxes[].servers[].id`. */
  const refusedPaths = (error: z.ZodError | undefined): readonly string[] =>
    [...new Set(error?.issues.map(({ path }) => JSON.stringify(path)))].map((text) => {
      const path: readonly (string | number)[] = JSON.parse(text);
      const parts = path.map((part) => (typeof part === "number" ? "[]" : `.${part}`));
      return parts.join("").slice(1);
    });

  it.each<[string, z.ZodType, fc.Arbitrary<unknown>]>([
    ["sandbox", keptSandboxSchema, anySandbox],
    [
      "listing",
      keptListingSchema,
      object(["local_sandboxes", "total_count"], { local_sandboxes: fc.array(anySandbox) }),
    ],
    [
      "list of universes",
      universesSchema,
      object(["universes"], { universes: fc.array(object(["name", "task_nums", "created_at"])) }),
    ],
  ])("counts of a %s each value that zod refuses, and no other", (_, schema, values) => {
    const walker = createWalker(schema);
    fc.assert(
      fc.property(values, (value) => {
        const deviations = new Deviations();
        walker.compare(JSON.parse(JSON.stringify(value)), deviations);
        const counted = new Map<string, number>();
        for (const { field, problem, count } of deviations.list()) {
          if (problem !== "unknown_field") counted.set(field, (counted.get(field) ?? 0) + count);
        }
        const refused = Map.groupBy(refusedPaths(schema.safeParse(value).error), (path) => path);
        expect(counted).toEqual(new Map(Array.from(refused, ([path, all]) => [path, all.length])));
      }),
      { numRuns: 500 },
    );
  });

  it("asks zod once about many values that deviate alike", () => {
    let asked = 0;
    const error = (): string => {
      asked++;
      return "refused";
    };
    const schema = z.object({ id: z.string({ error }).min(1, { error }).max(3, { error }) });
    const walker = createWalker(schema, "items[]");
    const deviations = new Deviations();
    for (const item of [{ id: "" }, { id: "long" }, { id: 7 }, { id: null }, {}]) {
      for (let times = 0; times < 1000; times++) walker.compare(item, deviations);
    }
    expect(deviations.list().map(inWords)).toEqual([
      "items[].id empty 1000: text of 0 characters",
      "items[].id too_long 1000: text of 4 characters",
      "items[].id wrong_type 1000: whole number",
      "items[].id null 1000: null",
      "items[].id missing 1000: null",
    ]);
    expect(asked).toBeLessThanOrEqual(10);
  });
});

describe("a 404", () => {
  const missing = "there is no such operation at this base address";
  const unknown = "nothing is known by this id";
  const unclear = "nothing is known by this id, or there is no such operation";
  const notFound = { detail: "Not Found" };
  const specific = { detail: "There is no such user" };

  /** Looks up users, and gives what each 404 means; an id with a star is found. */
  async function meaningsOf(ids: readonly string[], body: unknown) {
    const { client, call, drifts } = await startDrift((request, response) => {
      const isKnown = request.url?.endsWith("*") ?? false;
      if (body === undefined && !isKnown) response.writeHead(404).end("<html>");
      else
        answerJson(response, isKnown ? { userId: "u", createdAt: "t" } : body, isKnown ? 200 : 404);
    });
    const meanings: string[] = [];
    for (const id of ids) {
      const result = await client.look(call, { operation: "get_user", id });
      if (result.kind === "failed") meanings.push(result.detail.replace("HTTP 404: ", ""));
    }
    return { meanings, drifts: drifts.flatMap(({ deviations }) => deviations.map(inWords)) };
  }

  it("of an operation without an id means that it is missing, which is drift", async () => {
    expect(await driftOf(askUniverses, specific, 404)).toEqual([
      "us list_universes (answer) operation_missing 1: null",
    ]);
  });

  it.each<[string, readonly string[], unknown, readonly string[]]>([
    ["a specific text: an unknown id", ["a", "b", "c", "d"], specific, Array(4).fill(unknown)],
    ["no JSON: a missing operation", ["a"], undefined, [missing]],
    [
      "a general text: a missing operation once several ids are unknown",
      ["a", "b", "b", "a", "c", "a"],
      notFound,
      [unclear, unclear, unclear, unclear, missing, missing],
    ],
    [
      "an operation that has answered: an unknown id",
      ["*", "a", "b", "c", "d"],
      notFound,
      Array(4).fill(unknown),
    ],
  ])("with %s", async (_, ids, body, expected) => {
    const { meanings, drifts } = await meaningsOf(ids, body);
    expect(meanings).toEqual(expected);
    const isMissing = expected.includes(missing);
    expect(drifts).toHaveLength(isMissing ? expected.filter((each) => each === missing).length : 0);
  });

  it("of an id that was known, and then of others, means that the operation is gone", async () => {
    let isGone = false;
    const { client, call } = await startDrift((_request, response) =>
      answerJson(response, isGone ? notFound : { userId: "u", createdAt: "t" }, isGone ? 404 : 200),
    );
    const details: unknown[] = [];
    for (const id of ["known", "known", "a", "b", "c"]) {
      const result = await client.look(call, { operation: "get_user", id });
      if (result.kind === "failed") details.push(result.problem ?? null);
      isGone = true;
    }
    expect(details).toEqual([null, null, "operation_missing", "operation_missing"]);
  });

  it.each(["not found", "404: Not Found", "Page not found.", "resource not found"])(
    "with the text %j says nothing of the id",
    async (detail) => {
      expect((await meaningsOf(["a"], { detail })).meanings).toEqual([unclear]);
    },
  );
});

describe("a redirect", () => {
  it.each([
    [undefined, "without an address"],
    ["http://[", "without an address"],
    ["https://other.example.com/?token=T0PSECRET", "to another host"],
    ["/elsewhere?token=T0PSECRET", "to another path on the same host"],
    ["https://HOST/us/universes", "to https on the same host"],
  ])("to %s is reported without its address, and not followed", async (location, direction) => {
    const { client, call, drifts, peer } = await startDrift((request, response) => {
      const to = location?.replace("HOST", request.headers.host ?? "");
      response.writeHead(307, to === undefined ? {} : { location: to }).end();
    }, "/us/");
    const result = await client.look(call, askUniverses);
    expect(result).toMatchObject({
      kind: "failed",
      reason: "http_error",
      status: 307,
      problem: "redirected",
      detail: `HTTP 307: a redirect ${direction}, which is not followed`,
    });
    expect(JSON.stringify([result, drifts])).not.toContain(secret);
    expect(drifts).toMatchObject([{ deviations: [{ field: "(answer)", problem: "redirected" }] }]);
    expect(peer.paths).toHaveLength(1);
  });
});
