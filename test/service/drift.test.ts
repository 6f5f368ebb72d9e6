import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Deviations } from "../../src/service/deviations.ts";
import type { Lookup } from "../../src/service/operations.ts";
import { answerJson, createTestClient, startPeer, testKey } from "./peer.ts";
import { listing, read, sandbox, server, withServer } from "./support/listings.ts";

const servers = "list_sandboxes local_sandboxes[].servers[]";

/** What is reported, in words, where the service answers like this. */
async function driftOf(lookup: Lookup, body: unknown, status = 200) {
  const peer = await startPeer((_request, response) => answerJson(response, body, status));
  const { client, call } = createTestClient(peer.baseUrl);
  const { operation } = lookup;
  const asked =
    operation === "list_sandboxes" ? client.listSandboxes(call) : client.look(call, lookup);
  return (await asked).deviations.map(
    ({ field, problem, count, example }) => `${operation} ${field} ${problem} ${count}: ${example}`,
  );
}

const askListing: Lookup = { operation: "list_sandboxes" };
const askUser: Lookup = { operation: "get_user", id: "u1" };
const texts = { universe_id: "u", name: "n", description: "d", domain: "d" };
const universe = { ...texts, personas: [], task_nums: [], created_at: "Monday" };

describe("drift", () => {
  it.each<[string, Lookup, unknown, readonly string[]]>([
    ["a listing as promised", askListing, withServer({}), []],
    [
      "a new field",
      askListing,
      withServer({ gpu: { count: 2, model: "x" } }),
      [`${servers}.gpu unknown_field 1: object of 2 fields`],
    ],
    [
      "a new word",
      askListing,
      withServer({ status: "hibernating" }),
      [`${servers}.status unknown_value 1: "hibernating"`],
    ],
    [
      "what is no word",
      askListing,
      withServer({ status: "sk-7f3a91" }),
      [`${servers}.status unknown_value 1: text`],
    ],
    ["a missing field", askUser, { createdAt: "then" }, ["get_user userId missing 1: null"]],
    [
      "another form of time",
      { operation: "list_universes" },
      { universes: [universe] },
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
    ["a bare list", askListing, [1], ["list_sandboxes (answer) wrong_type 1: list of 1 item"]],
    ["any universe data", { operation: "get_universe_data", id: "un1" }, { any: "thing" }, []],
  ])("of %s is reported", async (_, lookup, body, reported) => {
    expect(await driftOf(lookup, body)).toEqual(reported);
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
  });

  it("is found in the entries of a 422, too", async () => {
    const entry = { loc: ["path", 0.5], msg: "bad", type: "t", input: testKey, url: "https://x/" };
    expect(await driftOf(askUser, { detail: [entry] }, 422)).toEqual([
      "get_user detail[].url unknown_field 1: text of 10 characters",
      "get_user detail[].loc[] wrong_type 1: number",
    ]);
  });

  it("never holds a value, whatever the service answers, and no secret one is kept", () => {
    const secret = "T0PSECRET";
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(secret, `${secret}-1`, { [secret]: secret }, [secret]),
    );
    const kept = [
      "id",
      "server_name",
      "local_sandbox_id",
      "servers",
      "status",
      "benchmark",
      "tags",
    ];
    const names = [...Object.keys(server), ...Object.keys(sandbox), "extra"];
    const odd = fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true });
    let reported = 0;
    fc.assert(
      fc.property(odd, odd, (ofSandbox, ofServer) => {
        const odds = [{ ...server, ...ofServer }];
        const { listing: taken, deviations } = read(
          listing([{ ...sandbox, servers: odds, ...ofSandbox }]),
        );
        expect(JSON.stringify(deviations)).not.toContain(secret);
        const isKept = [...Object.keys(ofSandbox), ...Object.keys(ofServer)].some((name) =>
          kept.includes(name),
        );
        expect(isKept || !JSON.stringify(taken.sandboxes).includes(secret)).toBe(true);
        reported += deviations.length;
      }),
      { numRuns: 120 },
    );
    expect(reported).toBeGreaterThan(100);
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
      const word = String(at).replaceAll(/\d/g, (digit) => "abcdefghij".charAt(Number(digit)));
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
