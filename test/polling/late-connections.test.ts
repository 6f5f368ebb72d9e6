import { setImmediate as settle } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRetryBudget, retryShare } from "../../src/lib/retry.ts";
import { callWithRetries } from "../../src/polling/call.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { answerJson, createTestClient, emptyListing, startPeer } from "../service/peer.ts";
import { createLateConnections } from "../support/late-connections.ts";

const target = { region: "us", key: "research" };

/** Calls of one key, of which two a second are allowed, at a service whose connections open late. */
async function start() {
  const connections = createLateConnections();
  const leftMs: number[] = [];
  const arrivedMs: number[] = [];
  const peer = await startPeer((_request, response) => {
    arrivedMs.push(now());
    answerJson(response, emptyListing);
  });
  const { client, call, clock } = createTestClient(peer.baseUrl, {
    createDispatcher: () =>
      connections.createDispatcher(peer.baseUrl, () => void leftMs.push(now())),
  });
  const startedMs = clock.now().monotonicMs;
  const now = (): number => clock.now().monotonicMs - startedMs;
  const limits = createKeyLimits(clock, { requests: 2, perMs: 1_000 });
  const deps = { limits, clock, random: () => 0.5, budget: createRetryBudget(retryShare) };
  const make = (signal = new AbortController().signal) =>
    callWithRetries(deps, target, { deadlineMs: Infinity, signal }, (attempt) =>
      client.listSandboxes({ ...call, ...attempt }),
    );
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  const nextFreeMs = (): number => limits.nextFreeMs(target) - startedMs;
  return { connections, nextFreeMs, make, advance, leftMs, arrivedMs };
}

it("the calls after those that opened their connections come a period after these came", async () => {
  const { connections, make, advance, leftMs, arrivedMs } = await start();
  const calls = [make(), make(), make(), make()];
  await connections.begun(2);
  await advance(300);
  connections.open();
  await Promise.all(calls.slice(0, 2));
  await advance(750);
  await advance(299);
  expect(leftMs).toEqual([0, 0]);
  await advance(1);
  const results = await Promise.all(calls);
  expect(results.map(({ kind }) => kind)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(leftMs).toEqual([0, 0, 1_350, 1_350]);
  expect(arrivedMs).toEqual([300, 300, 1_350, 1_350]);
});

it("calls that are given up before their connections open take no more than those that leave at once", async () => {
  const { connections, nextFreeMs, make, advance, leftMs, arrivedMs } = await start();
  const stop = new AbortController();
  const calls = [make(stop.signal), make(stop.signal)];
  await connections.begun(2);
  await advance(300);
  stop.abort();
  await Promise.all(calls);
  expect(nextFreeMs()).toBe(1_050);
  connections.open();
  const next = make();
  await advance(750);
  expect(await next).toMatchObject({ kind: "ok" });
  expect(leftMs).toEqual([0, 0, 1_050]);
  expect(arrivedMs).toEqual([1_050]);
});
