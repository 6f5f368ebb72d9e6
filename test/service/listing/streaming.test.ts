import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createCollectingIntake } from "../support/collecting-intake.ts";
import { closing, createTestClient, startBreakingPeer, startPeer } from "../peer.ts";
import { listing, sandbox } from "../wire.ts";

const maxBodyBytes = 64 * 1024 * 1024;
const long = JSON.stringify(
  listing(Array.from({ length: 5000 }, (_, at) => ({ ...sandbox, local_sandbox_id: `s${at}` }))),
);

test("a fault ends the answer where it is found, and the socket is closed", async () => {
  const peer = await startPeer((_request, response) => {
    // The rest never comes.
    response.write(`{"local_sandboxes":[{},{"a":nothing},${"{},".repeat(3000)}`);
  });
  const { client, call, ended } = createTestClient(peer.baseUrl);
  const poll = client.listSandboxes(call);
  while (peer.sockets.length === 0) await nextTurn();
  const closed = closing(peer);
  expect(await poll).toMatchObject({
    reason: "invalid_body",
    status: 200,
    detail: "the body is not JSON (at byte 23)",
  });
  expect(ended.map(({ code }) => code)).toEqual(["200"]);
  await closed;
});

test("while a long listing is read the event loop turns, and the connection is kept", async () => {
  const peer = await startPeer((_request, response) => void response.end(long));
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes });
  for (let polls = 0; polls < 3; polls++) {
    let turns = 0;
    const ending = new AbortController();
    let mostListed = 0;
    let listedBefore = 0;
    const intake = createCollectingIntake();
    const poll = client.listSandboxes({ ...call, openIntake: () => intake });
    const counted = poll.finally(() => ending.abort());
    while (!ending.signal.aborted) {
      await nextTurn();
      turns++;
      mostListed = Math.max(mostListed, intake.calls.listed - listedBefore);
      listedBefore = intake.calls.listed;
    }
    expect(await counted).toMatchObject({ kind: "ok", value: { complete: true } });
    expect(intake.calls.listed).toBe(5000);
    expect(turns).toBeGreaterThan(5);
    expect(mostListed).toBeLessThan(1000);
    await nextTurn();
  }
  expect(peer.sockets).toHaveLength(1);
});

test("a listing is read to its end though the service closes the connection behind it", async () => {
  const peer = await startPeer((_request, response) => {
    response.writeHead(200, { connection: "close" });
    response.end(long);
  });
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes });
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ kind: "ok", value: { complete: true } });
  expect(result.kind === "ok" && result.value.intake.sandboxCount).toBe(5000);
});

test("a caller that stops while a listing is read gets a failure, and nothing is read on", async () => {
  const peer = await startPeer((_request, response) => void response.end(long));
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes });
  const caller = new AbortController();
  const intake = createCollectingIntake();
  const stopping = {
    ...intake,
    listed(...item: Parameters<typeof intake.listed>) {
      if (intake.calls.listed === 100) caller.abort();
      return intake.listed(...item);
    },
  };
  const poll = client.listSandboxes({ ...call, signal: caller.signal, openIntake: () => stopping });
  expect(await poll).toMatchObject({ reason: "network", detail: "stopped", status: 200 });
  const { listed } = intake.calls;
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(intake.calls.listed).toBe(listed);
  expect(listed).toBeLessThan(2000);
});

test("what an intake throws is what the call rejects with", async () => {
  const peer = await startPeer((_request, response) => void response.end(long));
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes });
  for (const last of [0, 4000]) {
    const intake = createCollectingIntake();
    const broken = {
      ...intake,
      listed(...item: Parameters<typeof intake.listed>) {
        if (intake.calls.listed === last) throw new RangeError("broken intake");
        return intake.listed(...item);
      },
    };
    const poll = client.listSandboxes({ ...call, openIntake: () => broken });
    await expect(poll).rejects.toThrow("broken intake");
  }
});

test("the intake that a result names is one opened for its answer", async () => {
  const peer = await startBreakingPeer((request) => request === 2);
  const { client, call } = createTestClient(peer.baseUrl);
  const opened: object[] = [];
  const openIntake = () => {
    const intake = createCollectingIntake();
    opened.push(intake);
    return intake;
  };
  for (let polls = 0; polls < 2; polls++) {
    const result = await client.listSandboxes({ ...call, openIntake, mayResend: () => true });
    expect(result.kind === "ok" && result.value.intake).toBe(opened.at(-1));
    await nextTurn();
  }
  expect(peer.paths).toHaveLength(3);
});
