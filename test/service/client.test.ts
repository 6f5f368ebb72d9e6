import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import {
  answerJson,
  closing,
  createTestClient,
  emptyListing,
  type Handler,
  startPeer,
} from "./peer.ts";

/** Lists the sandboxes of a service that answers like this. */
async function listFrom(handler: Handler, options: { readonly maxBodyBytes?: number } = {}) {
  const peer = await startPeer(handler);
  const { client, call, ended } = createTestClient(peer.baseUrl, options);
  return { result: await client.listSandboxes(call), peer, ended };
}

describe("a status", () => {
  it.each([
    [201, "http_error"],
    [204, "http_error"],
    [304, "http_error"],
    [400, "http_error"],
    [401, "auth"],
    [403, "auth"],
    [422, "http_error"],
    [429, "rate_limited"],
    [500, "server_error"],
    [599, "server_error"],
  ])("%i is the failure %s", async (status, reason) => {
    const { result, peer, ended } = await listFrom((_request, response) =>
      response.writeHead(status).end(),
    );
    expect(result).toEqual({
      kind: "failed",
      reason,
      status,
      retryAfterMs: null,
      detail: `HTTP ${status}`,
      validation: [],
      deviations: [],
    });
    expect(peer.paths).toEqual(["/local-sandbox"]);
    expect(ended.map(({ code }) => code)).toEqual([String(status)]);
  });

  it.each([
    ["429 with seconds", 429, "30", 30_000],
    ["503 with a date", 503, "Fri, 20 Nov 2026 09:30:45 GMT", 45_000],
    ["429 with nonsense", 429, "soon", null],
    ["429 with a long time", 429, "9".repeat(400), 24 * 3_600_000],
    ["404, where it means nothing", 404, "30", null],
  ])("has its Retry-After read: %s", async (_, status, header, retryAfterMs) => {
    const { result } = await listFrom((_request, response) =>
      response.writeHead(status, { "retry-after": header }).end(),
    );
    expect(result).toMatchObject({ retryAfterMs });
  });
});

/** Writes without end, as fast as it is read. */
function pour(response: ServerResponse): void {
  while (response.write(Buffer.alloc(4096, " "))) continue;
  response.once("drain", () => pour(response));
}

describe("a body", () => {
  it.each([
    ["is said to be too long", (response: ServerResponse) => response.flushHeaders(), 100_001],
    ["turns out too long", pour, undefined],
  ] as const)("that %s is not read on, and the socket is closed", async (_, write, length) => {
    const peer = await startPeer((_request, response) => {
      response.writeHead(200, length === undefined ? {} : { "content-length": length });
      write(response);
    });
    const { client, call, ended } = createTestClient(peer.baseUrl, { maxBodyBytes: 100_000 });
    const connected = once(peer.server, "connection");
    const poll = client.listSandboxes(call);
    await connected;
    const closed = closing(peer);
    const detail = "the body is longer than 100000 bytes";
    expect(await poll).toMatchObject({ reason: "too_large", status: 200, detail });
    expect(ended.map(({ code }) => code)).toEqual(["too_large"]);
    await closed;
  });

  it.each([
    [0, "ok"],
    [1, "failed"],
  ])("%i bytes over the limit is %s", async (over, kind) => {
    const text = JSON.stringify(emptyListing);
    const { result } = await listFrom(
      (_request, response) => {
        response.write(text.slice(0, 5));
        response.end(text.slice(5));
      },
      { maxBodyBytes: text.length - over },
    );
    expect(result).toMatchObject({ kind });
  });

  const oddEnds: readonly (readonly [string, Handler])[] = [
    ["endless", (_request, response) => pour(response)],
    ["broken off", ({ socket }, response) => response.write("x", () => socket.destroy())],
  ];
  it.each(oddEnds)("of a failure that is %s leaves it that failure", async (_, finish) => {
    const { result } = await listFrom((request, response) => {
      response.writeHead(503, { "retry-after": "7" });
      finish(request, response);
    });
    expect(result).toMatchObject({ reason: "server_error", status: 503, retryAfterMs: 7000 });
  });

  it("that is no listing is a failure of its status, and the request had its answer", async () => {
    const { result, ended } = await listFrom((_request, response) => response.end('{"a": T0P'));
    expect(result).toMatchObject({ kind: "failed", reason: "invalid_body", status: 200 });
    expect(JSON.stringify(result)).not.toContain("T0P");
    expect(ended.map(({ code }) => code)).toEqual(["200"]);
  });
});

describe("a connection", () => {
  it("that cannot be made is a network failure that says why, without the address", async () => {
    const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
    const closed = await startPeer(() => {});
    closed.server.close();
    await once(closed.server, "close");
    for (const [address, detail] of [
      [closed.baseUrl, /^connection refused$/],
      ["http://sandwatch.invalid", /^host name not found/],
      [peer.baseUrl.replace("http:", "https:"), /^TLS failed/],
    ] as const) {
      const { client, call } = createTestClient(address);
      const result = await client.listSandboxes(call);
      expect(result).toMatchObject({ reason: "network", status: null });
      expect(result).toHaveProperty("detail", expect.stringMatching(detail));
    }
  });
});

it("a request carries the key, the agent and the encodings that are decoded, and has no body", async () => {
  const requests: unknown[] = [];
  const { peer } = await listFrom((request, response) => {
    requests.push(request.method, request.headers);
    answerJson(response, emptyListing);
  });
  expect(requests).toEqual([
    "GET",
    {
      accept: "application/json",
      "accept-encoding": "gzip, br, deflate",
      authorization: "Bearer test-key-7f3a",
      connection: "keep-alive",
      host: new URL(peer.baseUrl).host,
      "user-agent": "sandwatch/test",
    },
  ]);
});

it("a key that no header can carry is an authentication failure and is not sent", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl);
  const result = await client.listSandboxes({ ...call, apiKey: new Secret("line\r\nbreak") });
  expect(result).toMatchObject({ reason: "auth", status: null });
  expect(JSON.stringify(result)).not.toContain("break");
  expect(peer.paths).toEqual([]);
});

describe("a process that may not act", () => {
  it("sends no request, not even on a connection that was opened while it might", async () => {
    const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
    let asked = 0;
    const none = createTestClient(peer.baseUrl, { mayAct: () => false });
    expect(await none.client.listSandboxes(none.call)).toMatchObject({ detail: "stopped" });
    const first = createTestClient(peer.baseUrl, { mayAct: () => (asked += 1) === 1 });
    expect(await first.client.listSandboxes(first.call)).not.toMatchObject({ kind: "failed" });
    expect(await first.client.listSandboxes(first.call)).toMatchObject({ detail: "stopped" });
    expect(peer.paths).toEqual(["/local-sandbox"]);
  });
});
