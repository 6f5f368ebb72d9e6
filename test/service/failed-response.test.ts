import { describe, expect, it } from "vitest";
import type { Deviation } from "../../src/fleet/deviation.ts";
import type { Lookup } from "../../src/service/operations.ts";
import { answerJson, createTestClient, startPeer } from "./peer.ts";

const askUniverses: Lookup = { operation: "list_universes" };

describe("a 404", () => {
  const missing = "there is no such operation at this base address";
  const unknown = "this id is unknown";
  const unclear = "this id is unknown, or there is no such operation";
  const notFound = JSON.stringify({ detail: "Not Found" });
  const specific = JSON.stringify({ detail: "There is no such user" });

  /** What the 404s of look-ups mean, one after another; an id with a star is found. */
  async function meaningsOf(lookups: readonly Lookup[], body: string) {
    const peer = await startPeer(({ url }, response) => {
      if (url?.endsWith("*")) answerJson(response, { userId: "u", createdAt: "t" });
      else response.writeHead(404).end(body);
    });
    const { client, call } = createTestClient(peer.baseUrl);
    const meanings: string[] = [];
    const drift: Deviation[] = [];
    for (const lookup of lookups) {
      const result = await client.look(call, lookup);
      drift.push(...result.deviations);
      if (result.kind === "failed") meanings.push(result.detail.replace("HTTP 404: ", ""));
    }
    return { meanings, drift };
  }
  const users = (ids: string) => Array.from(ids, (id): Lookup => ({ operation: "get_user", id }));

  it.each<[string, readonly Lookup[], string, readonly string[]]>([
    ["an operation without an id: that is missing", [askUniverses], specific, [missing]],
    ["a specific text: an unknown id", users("abcd"), specific, Array(4).fill(unknown)],
    ["no JSON: a missing operation", users("a"), "<html>", [missing]],
    [
      "a general text: a missing operation once several ids are unknown",
      users("abbaca"),
      notFound,
      [unclear, unclear, unclear, unclear, missing, missing],
    ],
    [
      "an operation that has answered: an unknown id",
      users("*abcd"),
      notFound,
      Array(4).fill(unknown),
    ],
  ])("of %s, which is drift where it is missing", async (_, lookups, body, expected) => {
    const { meanings, drift } = await meaningsOf(lookups, body);
    expect(meanings).toEqual(expected);
    const deviation = { field: "(answer)", problem: "operation_missing", count: 1 };
    const isMissing = expected.filter((each) => each === missing);
    expect(drift).toMatchObject(isMissing.map(() => deviation));
  });

  it("of an id that was known, and then of others, means that the operation is gone", async () => {
    let isGone = false;
    const peer = await startPeer((_request, response) => {
      if (isGone) response.writeHead(404).end(notFound);
      else answerJson(response, { userId: "u", createdAt: "t" });
    });
    const { client, call } = createTestClient(peer.baseUrl);
    const problems: unknown[] = [];
    for (const lookup of users("kkabc")) {
      const result = await client.look(call, lookup);
      if (result.kind === "failed") problems.push(result.problem ?? null);
      isGone = true;
    }
    expect(problems).toEqual([null, null, "operation_missing", "operation_missing"]);
  });

  it.each(["not found", "404: Not Found", "Page not found.", "resource not found"])(
    "with the text %j says nothing of the id",
    async (detail) => {
      const { meanings } = await meaningsOf(users("a"), JSON.stringify({ detail }));
      expect(meanings).toEqual([unclear]);
    },
  );
});

it.each([
  [undefined, "without an address"],
  ["http://[", "without an address"],
  ["https://other.example.com/?token=T0PSECRET", "to another host"],
  ["/elsewhere?token=T0PSECRET", "to another path on the same host"],
  ["https://HOST/us/universes", "to https on the same host"],
])(
  "a redirect to %s is reported without its address, and not followed",
  async (location, direction) => {
    const peer = await startPeer((request, response) => {
      const to = location?.replace("HOST", request.headers.host ?? "");
      response.writeHead(307, to === undefined ? {} : { location: to }).end();
    });
    const { client, call } = createTestClient(`${peer.baseUrl}/us/`);
    const result = await client.look(call, askUniverses);
    expect(result).toMatchObject({
      kind: "failed",
      reason: "http_error",
      status: 307,
      problem: "redirected",
      detail: `HTTP 307: a redirect ${direction}, which is not followed`,
      deviations: [{ field: "(answer)", problem: "redirected" }],
    });
    expect(JSON.stringify(result)).not.toContain("T0PSECRET");
    expect(peer.paths).toHaveLength(1);
  },
);

it.each([
  "<center>The plain HTTP request was sent to HTTPS port</center>",
  "Client sent an HTTP request to an HTTPS server.\n",
  "You're speaking plain HTTP to an SSL-enabled server port.<br />",
])("a 400 with %j means that the port speaks TLS", async (body) => {
  const peer = await startPeer((_request, response) => response.writeHead(400).end(body));
  const { client, call } = createTestClient(peer.baseUrl);
  const result = await client.look(call, askUniverses);
  expect(result).toMatchObject({ kind: "failed", detail: "HTTP 400: this port speaks TLS" });
  const other = await startPeer((_request, response) => response.writeHead(400).end("bad"));
  const { client: plain, call: to } = createTestClient(other.baseUrl);
  expect(await plain.look(to, askUniverses)).toMatchObject({ detail: "HTTP 400" });
});
