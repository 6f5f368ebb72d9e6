import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  answerJson,
  closing,
  createConnectedClient,
  createTestClient,
  emptyListing,
  startBreakingPeer,
  startPeer,
  startTcpPeer,
} from "./peer.ts";

test("requests one after another share one connection", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl);
  for (let poll = 0; poll < 3; poll++) {
    expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
    await nextTurn();
  }
  expect(peer.sockets).toHaveLength(1);
});

test("a request carries the key, the agent and the encodings that are decoded, and has no body", async () => {
  const seen: unknown[] = [];
  const peer = await startPeer((request, response) => {
    seen.push(request.method, request.headers);
    answerJson(response, emptyListing);
  });
  const { client, call } = createTestClient(peer.baseUrl);
  await client.listSandboxes(call);
  expect(seen).toEqual([
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

test.for(["reset", "end"])(
  "a kept connection that breaks by a %s when used again is replaced without a failure",
  async (way) => {
    let requests = 0;
    const peer = await startPeer(({ socket }, response) => {
      requests++;
      if (requests !== 2) return answerJson(response, emptyListing);
      if (way === "reset") socket.resetAndDestroy();
      else socket.destroy();
    });
    const { client, call, ended } = createTestClient(peer.baseUrl);
    const patient = { ...call, mayResend: () => true };
    expect(await client.listSandboxes(patient)).toMatchObject({ kind: "ok" });
    await nextTurn();
    expect(await client.listSandboxes(patient)).toMatchObject({ kind: "ok" });
    expect(peer.paths).toHaveLength(3);
    expect(peer.sockets).toHaveLength(2);
    expect(ended.map(({ code }) => code)).toEqual(["200", "network", "200"]);
  },
);

test("connections closed while idle do not fail the next requests", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl);
  const patient = { ...call, mayResend: () => true };
  for (let round = 0; round < 5; round++) {
    const polls = await Promise.all([1, 2, 3].map(() => client.listSandboxes(patient)));
    expect(polls.map(({ kind }) => kind)).toEqual(["ok", "ok", "ok"]);
    // Half of the rounds break them as a firewall would, the other half as a server does.
    if (round % 2) peer.server.closeIdleConnections();
    else for (const socket of peer.sockets) socket.resetAndDestroy();
  }
});

test("a fresh connection that breaks is a failure, and nothing is sent twice for it", async () => {
  const peer = await startPeer(({ socket }) => void socket.resetAndDestroy());
  const { client, call, ended } = createTestClient(peer.baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({
    kind: "failed",
    reason: "network",
    status: null,
    detail: "connection reset",
  });
  expect(peer.paths).toHaveLength(1);
  expect(ended.map(({ code }) => code)).toEqual(["network"]);
});

const notAnAnswer = [
  ["is not HTTP", "SSH-2.0-OpenSSH\r\n"],
  ["breaks off in its head", "HTTP/1.1 200 OK\r\ncontent-"],
  ["is interim and not asked for", "HTTP/1.1 100 Continue\r\n\r\n"],
] as const;
test.for([
  ...notAnAnswer.map(([how, bytes]) => ["first", how, bytes, 0] as const),
  ...notAnAnswer.map(([how, bytes]) => ["second", how, bytes, 1] as const),
])("a connection whose %s answer %s is not taken for a dead one", async ([, , bytes, before]) => {
  const body = JSON.stringify(emptyListing);
  let connections = 0;
  const address = await startTcpPeer((socket) => {
    connections++;
    let requests = 0;
    socket.on("data", () => {
      if (requests++ >= before) socket.end(bytes);
      else socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
  });
  const { client, call } = createTestClient(address);
  let asked = 0;
  const mayResend = (): boolean => {
    asked++;
    return true;
  };
  for (let poll = 0; poll < before; poll++) {
    expect(await client.listSandboxes({ ...call, mayResend })).toMatchObject({ kind: "ok" });
    await nextTurn();
  }
  const result = await client.listSandboxes({ ...call, mayResend });
  expect(result).toMatchObject({ kind: "failed", reason: "network" });
  expect({ connections, asked }).toEqual({ connections: 1, asked: 0 });
});

test("a replacement that breaks as well is a failure", async () => {
  const peer = await startBreakingPeer((request) => request > 1);
  const { client, call } = await createConnectedClient(peer);
  const again = await client.listSandboxes({ ...call, mayResend: () => true });
  expect(again).toMatchObject({ reason: "network" });
  expect(peer.paths).toHaveLength(3);
});

test("without leave nothing is sent once more for a kept connection that breaks", async () => {
  const peer = await startBreakingPeer((request) => request === 2);
  const { client, call } = await createConnectedClient(peer);
  const again = await client.listSandboxes({ ...call, mayResend: () => false });
  expect(again).toMatchObject({ kind: "failed", reason: "network" });
  expect(peer.paths).toHaveLength(2);
});

test("after a kept connection broke none is kept for ten minutes", async () => {
  // A service that ends every connection at its second request.
  const served = new WeakSet<object>();
  const peer = await startPeer(({ socket }, response) => {
    if (served.has(socket)) return void socket.resetAndDestroy();
    served.add(socket);
    answerJson(response, emptyListing);
  });
  const { client, call, clock } = createTestClient(peer.baseUrl);
  const kinds: string[] = [];
  const ask = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      kinds.push((await client.listSandboxes(call)).kind);
      await nextTurn();
    }
  };
  await ask(6);
  expect(kinds).toEqual(["ok", "failed", "ok", "ok", "ok", "ok"]);
  clock.advance(10 * 60_000);
  kinds.length = 0;
  await ask(3);
  expect(kinds).toEqual(["ok", "failed", "ok"]);
});

test("silence before the head is a time-out, and the socket is closed", async () => {
  const asked = Promise.withResolvers<void>();
  const peer = await startPeer(() => asked.resolve());
  const { client, clock, call, ended } = createTestClient(peer.baseUrl);
  const poll = client.listSandboxes(call);
  await asked.promise;
  const closed = closing(peer);
  clock.advance(9_999);
  expect(ended).toEqual([]);
  clock.advance(1);
  expect(await poll).toMatchObject({
    kind: "failed",
    reason: "timeout",
    status: null,
    detail: "no whole answer within 10 s",
  });
  await closed;
  expect(ended).toEqual([
    { region: "us", operation: "list_sandboxes", code: "timeout", durationMs: 10_000 },
  ]);
});

test("silence in the middle of the body is a time-out, and the socket is closed", async () => {
  const asked = Promise.withResolvers<void>();
  const peer = await startPeer((_request, response) => {
    response.write('{"local_sandboxes":', () => asked.resolve());
  });
  const { client, clock, call } = createTestClient(peer.baseUrl);
  const poll = client.listSandboxes(call);
  await asked.promise;
  const closed = closing(peer);
  clock.advance(10_000);
  expect(await poll).toMatchObject({ reason: "timeout" });
  await closed;
});

test("silence while a connection is made is a time-out", async () => {
  const connected = Promise.withResolvers<void>();
  const address = await startTcpPeer(() => connected.resolve());
  const { client, clock, call } = createTestClient(address.replace("http:", "https:"));
  const poll = client.listSandboxes(call);
  await connected.promise;
  clock.advance(10_000);
  expect(await poll).toMatchObject({ reason: "timeout", status: null });
});

test("requests at once open their connections side by side, also over TLS", async () => {
  const both = Promise.withResolvers<void>();
  let connections = 0;
  const address = await startTcpPeer(() => {
    connections += 1;
    if (connections === 2) both.resolve();
  });
  const { client, call } = createTestClient(address.replace("http:", "https:"));
  const polls = [client.listSandboxes(call), client.listSandboxes(call)];
  await both.promise;
  await client.close();
  for (const poll of polls) expect(await poll).toMatchObject({ detail: "stopped" });
});

test("a caller that stops waiting gets a failure, and the socket is closed", async () => {
  const asked = Promise.withResolvers<void>();
  const peer = await startPeer(() => asked.resolve());
  const { client, call } = createTestClient(peer.baseUrl);
  const caller = new AbortController();
  const poll = client.listSandboxes({ ...call, signal: caller.signal });
  await asked.promise;
  const closed = closing(peer);
  caller.abort();
  expect(await poll).toMatchObject({ kind: "failed", reason: "network", detail: "stopped" });
  await closed;
});

test("a caller that has stopped before asks nothing", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl);
  const poll = await client.listSandboxes({ ...call, signal: AbortSignal.abort() });
  expect(poll).toMatchObject({ reason: "network", detail: "stopped" });
  expect(peer.sockets).toHaveLength(0);
});

test("close stops the calls in flight, those still connecting, and those to come", async () => {
  const asked = Promise.withResolvers<void>();
  const connected = Promise.withResolvers<void>();
  const disconnected = Promise.withResolvers<void>();
  const peer = await startPeer(() => asked.resolve());
  const silent = await startTcpPeer((socket) => {
    socket.on("close", () => disconnected.resolve()).resume();
    connected.resolve();
  });
  const regions = new Map([
    ["us", { baseUrl: peer.baseUrl }],
    ["eu", { baseUrl: silent.replace("http:", "https:") }],
  ]);
  const { client, call } = createTestClient(peer.baseUrl, { regions });
  const polls = [client.listSandboxes(call), client.listSandboxes({ ...call, region: "eu" })];
  await Promise.all([asked.promise, connected.promise]);
  await client.close();
  polls.push(client.listSandboxes(call));
  for (const poll of polls) expect(await poll).toMatchObject({ detail: "stopped" });
  await disconnected.promise;
});

test("calls that share a signal leave no listener on it", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const { client, call } = createTestClient(peer.baseUrl);
  let listeners = 0;
  const { signal } = new AbortController();
  const counting = new Proxy(signal, {
    get(target, property) {
      if (property === "addEventListener") listeners++;
      if (property === "removeEventListener") listeners--;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  for (let poll = 0; poll < 20; poll++) await client.listSandboxes({ ...call, signal: counting });
  expect(listeners).toBe(0);
});
