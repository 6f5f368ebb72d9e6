import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLateConnections } from "../support/late-connections.ts";
import {
  answerJson,
  createConnectedClient,
  createTestClient,
  emptyListing,
  startBreakingPeer,
  startPeer,
  startTcpPeer,
} from "./peer.ts";

test("a request is told to be sent once it has a connection, before it comes", async () => {
  const told: string[] = [];
  const peer = await startPeer((_request, response) => {
    told.push("came");
    answerJson(response, emptyListing);
  });
  const connections = createLateConnections();
  const createDispatcher = () =>
    connections.createDispatcher(peer.baseUrl, () => void told.push("left"));
  const { client, call } = createTestClient(peer.baseUrl, { createDispatcher });
  const onSent = () => void told.push("sent");
  const first = client.listSandboxes({ ...call, onSent });
  await connections.begun(1);
  await nextTurn();
  expect(told).toEqual(["left"]);
  connections.open();
  await first;
  await client.getUser({ ...call, onSent }, "u");
  expect(told).toEqual(["left", "sent", "came", "left", "sent", "came"]);
});

test("a request that is sent once more is told so again", async () => {
  const peer = await startBreakingPeer((request) => request === 2);
  const { client, call } = await createConnectedClient(peer);
  const told: string[] = [];
  const mayResend = (): boolean => told.push("may it be?") > 0;
  await client.listSandboxes({ ...call, mayResend, onSent: () => void told.push("sent") });
  expect(told).toEqual(["sent", "may it be?", "sent"]);
});

test("a request whose connection never opens is not told to be sent", async () => {
  const connected = Promise.withResolvers<void>();
  const address = await startTcpPeer(() => connected.resolve());
  const { client, clock, call } = createTestClient(address.replace("http:", "https:"));
  let sent = 0;
  const poll = client.listSandboxes({ ...call, onSent: () => void (sent += 1) });
  await connected.promise;
  clock.advance(10_000);
  expect(await poll).toMatchObject({ reason: "timeout" });
  expect(sent).toBe(0);
});

test("a request that is given up while its connection opens is not told to be sent", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, emptyListing));
  const connections = createLateConnections();
  const createDispatcher = () => connections.createDispatcher(peer.baseUrl, () => {});
  const { client, call } = createTestClient(peer.baseUrl, { createDispatcher });
  const caller = new AbortController();
  let sent = 0;
  const onSent = () => void (sent += 1);
  const poll = client.listSandboxes({ ...call, onSent, signal: caller.signal });
  await connections.begun(1);
  caller.abort();
  expect(await poll).toMatchObject({ detail: "stopped" });
  connections.open();
  expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
  expect(sent).toBe(0);
  expect(peer.paths).toHaveLength(1);
});
