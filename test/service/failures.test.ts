import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { limits } from "../../src/service/listing-items.ts";
import {
  answerJson,
  closing,
  createTestClient,
  emptyListing,
  type Handler,
  startPeer,
  startTcpPeer,
} from "./peer.ts";

const problemOf: Readonly<Record<number, string>> = {
  301: "redirected",
  302: "redirected",
  404: "operation_missing",
};

test.for([
  [201, "http_error"],
  [204, "http_error"],
  [301, "http_error"],
  [302, "http_error"],
  [304, "http_error"],
  [400, "http_error"],
  [401, "auth"],
  [403, "auth"],
  [404, "http_error"],
  [422, "http_error"],
  [429, "rate_limited"],
  [500, "server_error"],
  [503, "server_error"],
  [599, "server_error"],
] as const)("status %i is the failure %s", async ([status, reason]) => {
  const peer = await startPeer((_request, response) => {
    response.writeHead(status, { location: "/elsewhere" });
    response.end();
  });
  const { client, call, ended } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toEqual({
    ...(problemOf[status] && { problem: problemOf[status] }),
    kind: "failed",
    reason,
    status,
    retryAfterMs: null,
    detail: expect.stringMatching(new RegExp(`^HTTP ${status}(?:: [a-z ,]+)?$`)),
    validation: [],
  });
  expect(peer.paths).toEqual(["/local-sandbox"]);
  expect(ended.map(({ code }) => code)).toEqual([String(status)]);
});

test.for([
  ["cut short in its JSON", '{"local_sandboxes":[', "the body is not JSON (it ends too early)"],
  ["of another shape", '{"sandboxes":[]}', "the body is not of the promised shape"],
  ["an array", "[]", "the body is not of the promised shape"],
  ["null", "null", "the body is not of the promised shape"],
  ["without a list", '{"total_count":0}', "the body is not of the promised shape"],
  ["no JSON", '{"a": secret-in-the-body}', "the body is not JSON"],
  ["no JSON later on", '{"a": "b" secret}', "the body is not JSON"],
  ["HTML", "<html>", "the body is not JSON"],
  ["empty", "", "the body is empty"],
  ["nested absurdly", "[".repeat(900_000), "the body is nested deeper than 512 levels"],
  ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]), "the body is not UTF-8"],
] as const)("a listing that is %s is an invalid body", async ([, body, detail]) => {
  const peer = await startPeer((_request, response) => void response.end(body));
  const { client, call, ended } = createTestClient(peer.baseUrl);
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ kind: "failed", reason: "invalid_body", status: 200 });
  expect(result).toHaveProperty("detail", expect.stringContaining(detail));
  expect(JSON.stringify(result)).not.toContain("secret");
  expect(ended.map(({ code }) => code)).toEqual(["200"]);
});

const objects = (count: number): string => `[${"{},".repeat(count - 1)}{}]`;
const lists = (count: number): string =>
  Array.from({ length: count }, () => '"local_sandboxes":[0]').join();

const tooLarge: [string, string, string][] = [
  [
    "of absurdly many objects in a sandbox",
    `{"local_sandboxes":[{"a":${objects(100_000)}}],"total_count":1}`,
    "one value of the body holds more than 100000 objects",
  ],
  [
    "of an absurdly long sandbox",
    `{"local_sandboxes":[{"a":"${"a".repeat(8 * 1024 * 1024)}"}],"total_count":1}`,
    "one value of the body is longer than 8388608 bytes",
  ],
  [
    "of absurdly many fields",
    `{${Array.from({ length: 10_001 }, (_, at) => `"f${at}":0`).join()}}`,
    "the body holds more than 10000 fields",
  ],
  [
    "that begins anew absurdly often",
    `{${lists(101)},"total_count":1}`,
    "the body holds more than 100 lists of sandboxes",
  ],
];
test.for(tooLarge)("a listing %s is too large", async ([, body, detail]) => {
  const peer = await startPeer((_request, response) => void response.end(body));
  const { client, call, ended } = createTestClient(peer.baseUrl, { maxBodyBytes: body.length });
  expect(await client.listSandboxes(call)).toMatchObject({
    kind: "failed",
    reason: "too_large",
    status: 200,
    detail,
  });
  expect(ended.map(({ code }) => code)).toEqual(["200"]);
});

test("a listing that begins anew as often as it may is what the last list says", async () => {
  const body = `{${lists(100)},"total_count":1}`;
  const peer = await startPeer((_request, response) => void response.end(body));
  const { client, call } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
});

test("a listing of absurdly many items is too large", async () => {
  const { items } = limits;
  // Two million of them would tell the same, and take seconds.
  limits.items = 2_000;
  onTestFinished(() => void (limits.items = items));
  const answer = async (count: number) => {
    const list = `${"0,".repeat(count - 1)}0`;
    const body = `{"local_sandboxes":[${list}],"total_count":${count}}`;
    const peer = await startPeer((_request, response) => void response.end(body));
    const { client, call } = createTestClient(peer.baseUrl);
    return client.listSandboxes(call);
  };
  expect(await answer(2_000)).toMatchObject({ kind: "ok" });
  expect(await answer(2_001)).toMatchObject({
    kind: "failed",
    reason: "too_large",
    status: 200,
    detail: "the listing holds more than 2000 items",
  });
  expect(items).toBe(2_000_000);
});

test("a byte order mark is let pass", async () => {
  const body = `\u{feff}${JSON.stringify(emptyListing)}`;
  const peer = await startPeer((_request, response) => void response.end(body));
  const { client, call } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
});

test("a body said to be too long is not read, and the socket is closed", async () => {
  const peer = await startPeer((_request, response) => {
    response.writeHead(200, { "content-length": 1001 });
    response.flushHeaders();
  });
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes: 1000 });
  const connected = once(peer.server, "connection");
  const poll = client.listSandboxes(call);
  await connected;
  const closed = closing(peer);
  expect(await poll).toMatchObject({
    reason: "too_large",
    status: 200,
    detail: "the body is longer than 1000 bytes",
  });
  await closed;
});

/** Writes without end, as fast as it is read. */
function pour(response: ServerResponse): void {
  while (response.write(Buffer.alloc(4096, " "))) continue;
  response.once("drain", () => pour(response));
}

test("a body that turns out too long is not read on, and the socket is closed", async () => {
  const peer = await startPeer((_request, response) => {
    pour(response);
  });
  const { client, call, ended } = createTestClient(peer.baseUrl, { maxBodyBytes: 100_000 });
  const connected = once(peer.server, "connection");
  const poll = client.listSandboxes(call);
  await connected;
  const closed = closing(peer);
  expect(await poll).toMatchObject({ reason: "too_large" });
  expect(ended.map(({ code }) => code)).toEqual(["too_large"]);
  await closed;
});

test.for([
  [0, "ok"],
  [1, "failed"],
] as const)("a body %i bytes over the limit is %s", async ([over, kind]) => {
  const text = JSON.stringify(emptyListing);
  const peer = await startPeer((_request, response) => {
    response.write(text.slice(0, 5));
    response.end(text.slice(5));
  });
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes: text.length - over });
  expect(await client.listSandboxes(call)).toMatchObject({ kind });
});

const badBodies: [string, Handler][] = [
  ["endless", (_request, response) => pour(response)],
  ["broken off", ({ socket }, response) => response.write("x", () => socket.destroy())],
];
test.for(badBodies)("a failure whose body is %s is still that failure", async ([, finish]) => {
  const peer = await startPeer((request, response) => {
    response.writeHead(503, { "retry-after": "7" });
    finish(request, response);
  });
  const { client, call } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({
    reason: "server_error",
    status: 503,
    retryAfterMs: 7000,
  });
});

test.for([
  ["with a length", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"],
  ["in chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n"],
  ["before its head is whole", "HTTP/1.1 200 OK\r\ncontent-"],
] as const)("an answer %s that is cut off is a network failure", async ([, bytes]) => {
  const address = await startTcpPeer((socket) => void socket.once("data", () => socket.end(bytes)));
  const { client, call } = createTestClient(address);
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ kind: "failed", reason: "network" });
});

test("what is not HTTP is a network failure", async () => {
  const address = await startTcpPeer((socket) => {
    socket.once("data", () => socket.end("SSH-2.0-secret\r\n"));
  });
  const { client, call } = createTestClient(address);
  expect(await client.listSandboxes(call)).toMatchObject({
    reason: "network",
    detail: "the answer is not HTTP",
  });
});

test("a refused connection is a network failure", async () => {
  const peer = await startPeer(() => {});
  peer.server.close();
  await once(peer.server, "close");
  const { client, call } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({
    reason: "network",
    status: null,
    detail: "connection refused",
  });
});

test("a name that nobody has is a network failure", async () => {
  const { client, call } = createTestClient("http://sandwatch.invalid");
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ reason: "network" });
  expect(result).toHaveProperty("detail", expect.stringMatching(/^host name not found/));
});

test("a peer that does not speak TLS is a network failure", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl.replace("http:", "https:"));
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ reason: "network" });
  expect(result).toHaveProperty("detail", expect.stringMatching(/^TLS failed/));
});

test("a key that no header can carry is an authentication failure and is not sent", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl);
  const result = await client.listSandboxes({ ...call, apiKey: new Secret("line\r\nbreak") });
  expect(result).toMatchObject({ reason: "auth", status: null });
  expect(JSON.stringify(result)).not.toContain("break");
  expect(peer.paths).toEqual([]);
});

test("a region that is not configured is wrong use", async () => {
  const { client, call } = createTestClient("http://127.0.0.1:1");
  await expect(client.listSandboxes({ ...call, region: "mars" })).rejects.toThrow(RangeError);
});

test.for([
  ["429 with seconds", 429, "30", 30_000],
  ["503 with a date", 503, "Fri, 20 Nov 2026 09:30:45 GMT", 45_000],
  ["429 with nonsense", 429, "soon", null],
  ["404, where it means nothing", 404, "30", null],
] as const)("Retry-After of a %s is read", async ([, status, header, retryAfterMs]) => {
  const peer = await startPeer((_request, response) => {
    response.writeHead(status, { "retry-after": header });
    response.end();
  });
  const { client, call } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({ retryAfterMs });
});
