import { describe, expect, it } from "vitest";
import type { Deviation } from "../../src/fleet/deviation.ts";
import type { Lookup } from "../../src/service/operations.ts";
import { answerJson, createTestClient, type Handler, startPeer } from "./peer.ts";

const secret = "T0PSECRET";
const askUniverses: Lookup = { operation: "list_universes" };

async function startClient(handler: Handler, path = "") {
  const peer = await startPeer(handler);
  return { ...createTestClient(peer.baseUrl + path), peer };
}

describe("a 404", () => {
  const missing = "there is no such operation at this base address";
  const unknown = "this id is unknown";
  const unclear = "this id is unknown, or there is no such operation";
  const notFound = { detail: "Not Found" };
  const specific = { detail: "There is no such user" };

  /** Looks up users, and gives what each 404 means; an id with a star is found. */
  async function meaningsOf(ids: readonly string[], body: unknown) {
    const { client, call } = await startClient((request, response) => {
      const isKnown = request.url?.endsWith("*") ?? false;
      if (body === undefined && !isKnown) response.writeHead(404).end("<html>");
      else
        answerJson(response, isKnown ? { userId: "u", createdAt: "t" } : body, isKnown ? 200 : 404);
    });
    const meanings: string[] = [];
    const drift: Deviation[] = [];
    for (const id of ids) {
      const result = await client.look(call, { operation: "get_user", id });
      drift.push(...result.deviations);
      if (result.kind === "failed") meanings.push(result.detail.replace("HTTP 404: ", ""));
    }
    return { meanings, drifts: drift };
  }

  it("of an operation without an id means that it is missing, which is drift", async () => {
    const { client, call } = await startClient((_request, response) =>
      answerJson(response, specific, 404),
    );
    expect(await client.look(call, askUniverses)).toMatchObject({
      problem: "operation_missing",
      deviations: [{ field: "(answer)", problem: "operation_missing", count: 1 }],
    });
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
    const { client, call } = await startClient((_request, response) =>
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
    const { client, call, peer } = await startClient((request, response) => {
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
      deviations: [{ field: "(answer)", problem: "redirected" }],
    });
    expect(JSON.stringify(result)).not.toContain(secret);
    expect(peer.paths).toHaveLength(1);
  });
});
