import { getEventListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { FakeClock } from "../support/fake-clock.ts";
import { createLateConnections } from "../support/late-connections.ts";
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

describe("a kept connection", () => {
  it("serves requests one after another", async () => {
    const { baseUrl, sockets } = await startBreakingPeer(() => false);
    const { client, call } = createTestClient(baseUrl);
    for (let poll = 0; poll < 3; poll++) {
      expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
      await nextTurn();
    }
    expect(sockets).toHaveLength(1);
  });

  it.each(["reset", "end"])("that breaks by a %s when used again is replaced", async (way) => {
    let requests = 0;
    const peer = await startPeer(({ socket }, response) => {
      if (++requests !== 2) return answerJson(response, emptyListing);
      if (way === "reset") socket.resetAndDestroy();
      else socket.destroy();
    });
    const { client, call, ended } = await createConnectedClient(peer);
    const again = await client.listSandboxes({ ...call, mayResend: () => true });
    expect(again).toMatchObject({ kind: "ok" });
    expect([peer.paths.length, peer.sockets.length]).toEqual([3, 2]);
    expect(ended.map(({ code }) => code)).toEqual(["200", "network", "200"]);
  });

  it.each([
    ["where that is not allowed", 2, false],
    ["where its replacement breaks too", 3, true],
  ])("that breaks is a failure %s", async (_, requests, isAllowed) => {
    const peer = await startBreakingPeer((request) => request > 1);
    const { client, call } = await createConnectedClient(peer);
    const again = await client.listSandboxes({ ...call, mayResend: () => isAllowed });
    expect(again).toMatchObject({ kind: "failed", reason: "network" });
    expect(peer.paths).toHaveLength(requests);
  });

  it("that broke means that none is kept for ten minutes", async () => {
    // A service that ends every connection at its second request.
    const served = new WeakSet<object>();
    const peer = await startPeer(({ socket }, response) => {
      if (served.has(socket)) return void socket.resetAndDestroy();
      served.add(socket);
      answerJson(response, emptyListing);
    });
    const { client, call, clock } = createTestClient(peer.baseUrl);
    const kinds: string[] = [];
    for (let poll = 0; poll < 8; poll += 1) {
      if (poll === 4) clock.advance(10 * 60_000 - 1);
      if (poll === 5) clock.advance(1);
      kinds.push((await client.listSandboxes(call)).kind);
      await nextTurn();
    }
    expect(kinds).toEqual(["ok", "failed", "ok", "ok", "ok", "ok", "failed", "ok"]);
  });
});

it("a new connection that breaks is a failure, and nothing is sent twice for it", async () => {
  const peer = await startBreakingPeer(() => true);
  const { client, call, ended } = createTestClient(peer.baseUrl);
  const result = await client.listSandboxes({ ...call, mayResend: () => true });
  expect(result).toMatchObject({ reason: "network", status: null, detail: "connection reset" });
  expect(peer.paths).toHaveLength(1);
  expect(ended.map(({ code }) => code)).toEqual(["network"]);
});

describe.each([
  ["is not HTTP", "SSH-2.0-OpenSSH\r\n"],
  ["breaks off in its head", "HTTP/1.1 200 OK\r\ncontent-"],
  ["is interim and not asked for", "HTTP/1.1 100 Continue\r\n\r\n"],
])("an answer that %s", (_, bytes) => {
  it.each([0, 1])("is no sign of a dead connection after %i good ones", async (before) => {
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
    const resending = { ...call, mayResend: () => ++asked > 0 };
    for (let poll = 0; poll < before; poll++) {
      expect(await client.listSandboxes(resending)).toMatchObject({ kind: "ok" });
      await nextTurn();
    }
    expect(await client.listSandboxes(resending)).toMatchObject({ reason: "network" });
    expect([connections, asked]).toEqual([1, 0]);
  });
});

describe("silence", () => {
  it.each([
    ["before the head", ""],
    ["in the middle of the body", '{"local_sandboxes":'],
  ])("%s is a time-out, and the socket is closed", async (_, start) => {
    const asked = Promise.withResolvers<void>();
    const peer = await startPeer((_request, response) => {
      if (start === "") asked.resolve();
      else response.write(start, () => asked.resolve());
    });
    const { client, clock, call, ended } = createTestClient(peer.baseUrl);
    const poll = client.listSandboxes(call);
    await asked.promise;
    const closed = closing(peer);
    clock.advance(9_999);
    expect(ended).toEqual([]);
    clock.advance(1);
    const detail = "no complete response within 10 s";
    expect(await poll).toMatchObject({ kind: "failed", reason: "timeout", detail });
    await closed;
    const operation = "list_sandboxes";
    expect(ended).toEqual([{ region: "us", operation, code: "timeout", durationMs: 10_000 }]);
  });

  it("while a connection is made is a time-out, and the request was not sent", async () => {
    const connected = Promise.withResolvers<void>();
    const address = await startTcpPeer(() => connected.resolve());
    const { client, clock, call } = createTestClient(address.replace("http:", "https:"));
    let sent = 0;
    const poll = client.listSandboxes({ ...call, onSent: () => void (sent += 1) });
    await connected.promise;
    clock.advance(10_000);
    expect(await poll).toMatchObject({ reason: "timeout", status: null });
    expect(sent).toBe(0);
  });
});

describe("a response that came before the process could read it", () => {
  it.each<[string, string, (clock: FakeClock) => void]>([
    ["a time-out", "the process was stopped", (clock) => clock.holdUp(10_001)],
    // The monotonic clock stands still meanwhile.
    ["a time-out", "the machine was suspended", (clock) => clock.stepUtc(15_001)],
    ["accepted", "the wall clock was set forward by seconds", (clock) => clock.stepUtc(14_000)],
    ["accepted", "the wall clock was set back", (clock) => clock.stepUtc(-3_600_000)],
  ])("is %s after %s", async (expected, _, pass) => {
    let answer = (): void => {};
    const asked = Promise.withResolvers<void>();
    const peer = await startPeer((_request, response) => {
      answer = () => answerJson(response, emptyListing);
      asked.resolve();
    });
    const { client, clock, call } = createTestClient(peer.baseUrl);
    const poll = client.listSandboxes(call);
    await asked.promise;
    answer();
    pass(clock);
    const timeout = { kind: "failed", reason: "timeout" };
    expect(await poll).toMatchObject(expected === "accepted" ? { kind: "ok" } : timeout);
  });
});

describe("stopping", () => {
  it("ends a call as a failure, closes its socket and leaves nothing on the signal", async () => {
    const asked = Promise.withResolvers<void>();
    const peer = await startPeer(() => asked.resolve());
    const { client, call } = createTestClient(peer.baseUrl);
    const caller = new AbortController();
    const { signal } = caller;
    const poll = client.listSandboxes({ ...call, signal });
    await asked.promise;
    const closed = closing(peer);
    caller.abort();
    const stopped = { kind: "failed", reason: "network", detail: "stopped" };
    expect(await poll).toMatchObject(stopped);
    await closed;
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(await client.listSandboxes({ ...call, signal })).toMatchObject(stopped);
    expect(peer.sockets).toHaveLength(1);
  });

  it("ends by close the calls in progress, those still connecting, and later ones", async () => {
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
});

describe("the notice that a request is sent", () => {
  /** A client whose connections open late, and what was heard of its requests. */
  async function startLate() {
    const heard: string[] = [];
    const peer = await startPeer((_request, response) => {
      heard.push("came");
      answerJson(response, emptyListing);
    });
    const connections = createLateConnections();
    const createDispatcher = () =>
      connections.createDispatcher(peer.baseUrl, () => void heard.push("left"));
    const { client, call } = createTestClient(peer.baseUrl, { createDispatcher });
    return { heard, connections, client, call: { ...call, onSent: () => void heard.push("sent") } };
  }

  it("comes once it has a connection, before the service has it", async () => {
    const { heard, connections, client, call } = await startLate();
    const first = client.listSandboxes(call);
    await connections.begun(1);
    await nextTurn();
    expect(heard).toEqual(["left"]);
    connections.open();
    await first;
    await client.listSandboxes(call);
    expect(heard).toEqual(["left", "sent", "came", "left", "sent", "came"]);
  });

  it("comes again when it is sent again", async () => {
    const peer = await startBreakingPeer((request) => request === 2);
    const { client, call } = await createConnectedClient(peer);
    const heard: string[] = [];
    const mayResend = (): boolean => heard.push("may it be?") > 0;
    await client.listSandboxes({ ...call, mayResend, onSent: () => void heard.push("sent") });
    expect(heard).toEqual(["sent", "may it be?", "sent"]);
  });

  it("does not come of one that is stopped while its connection opens", async () => {
    const { heard, connections, client, call } = await startLate();
    const caller = new AbortController();
    const poll = client.listSandboxes({ ...call, signal: caller.signal });
    await connections.begun(1);
    caller.abort();
    expect(await poll).toMatchObject({ detail: "stopped" });
    connections.open();
    expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
    expect(heard).toEqual(["left", "left", "sent", "came"]);
  });
});
