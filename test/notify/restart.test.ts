import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createFakeClock } from "../support/fake-clock.ts";
import { openDelivery } from "./support/delivery.ts";
import { fire, fireMany, outboxItem, resolve, startMs } from "./support/items.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe("a restart", () => {
  it("after the receiver accepted, before that is stored, sends again under the same id", async () => {
    const server = await startReceiverServer();
    const killed = Promise.withResolvers<void>();
    const before = openDelivery(server, {
      outbox: () => ({
        settle() {
          killed.resolve();
          return new Promise(() => {});
        },
      }),
    });
    await before.insert(outboxItem());
    before.notifier.start();
    await killed.promise;

    const after = openDelivery(server, { store: before.store.restarted() });
    await after.pass(0);
    await after.pass(0);
    expect([server.requests.length, new Set(server.ids()).size]).toEqual([2, 1]);
  });

  it.each([
    ["by -10 h tries again within five minutes", -10 * hourMs, 24 * hourMs, 5 * minuteMs],
    ["by 48 h tries again within five minutes", 48 * hourMs, 24 * hourMs, 5 * minuteMs],
    ["by 48 h has its whole time where that is shorter", 48 * hourMs, minuteMs, minuteMs],
  ])("on a wall clock that moved %s", async (_, movedMs, giveUpAfterMs, leftMs) => {
    const server = await startReceiverServer(status(503, { "retry-after": "604800" }));
    const settings = { giveUpAfterMs };
    const before = openDelivery(server, { settings });
    await before.insert(outboxItem());
    await before.pass(0);

    const store = before.store.restarted();
    server.answerWith(status(503));
    const clock = createFakeClock(startMs + movedMs);
    const { pass } = openDelivery(server, { settings, store, clock });
    await pass(0);
    await pass(leftMs - 1);
    expect(await store.states()).toEqual(["pending"]);
    await pass(1);
    expect(server.requests.length).toBeGreaterThanOrEqual(2);
    await pass(24 * hourMs);
    expect(await store.states()).toEqual(["dead"]);
  });

  it("does not count the time in which no process ran towards `give_up_after`", async () => {
    const server = await startReceiverServer(status(503));
    const before = openDelivery(server);
    await before.insert(outboxItem());
    await before.pass(0);
    await before.pass(10 * hourMs);

    const store = before.store.restarted();
    const clock = createFakeClock(startMs + 72 * hourMs);
    const { pass } = openDelivery(server, { store, clock });
    await pass(0);
    await pass(13 * hourMs);
    expect(await store.states()).toEqual(["pending"]);
    await pass(hourMs);
    expect(await store.states()).toEqual(["dead"]);
  });
});

describe("a store that fails", () => {
  it("is asked again after a second, and that is logged once", async () => {
    const server = await startReceiverServer();
    let calls = 0;
    const { notifier, clock, insert, logged, nextLog } = openDelivery(server, {
      outbox: (outbox) => ({
        openItems: (...query) => (++calls <= 2 ? refuse() : outbox.openItems(...query)),
      }),
    });
    await insert(fire("a"));
    const refused = nextLog("delivery.store_failed oncall");
    const run = notifier.runOnce();
    await refused;
    clock.advance(999);
    await setImmediate();
    expect(calls).toBe(1);
    clock.advance(1);
    await setImmediate();
    expect([calls, server.requests.length]).toEqual([2, 0]);
    clock.advance(1_000);
    await run;
    expect(server.requests).toHaveLength(1);
    expect(logged).toEqual(["delivery.store_failed oncall", "notification.delivered oncall"]);
  });

  it("is asked for at most 50 notifications that were sent, each sent once", async () => {
    const server = await startReceiverServer();
    const refused = new Set<number>();
    let isFull = true;
    const { notifier, clock, store, insert, observed, logged } = openDelivery(server, {
      outbox: ({ settle }) => ({
        settle(seq, ...settled) {
          if (!isFull) return settle(seq, ...settled);
          refused.add(seq);
          return refuse();
        },
      }),
    });
    await insert(...fireMany(80));
    const run = notifier.runOnce();
    await server.received(50);
    for (let times = 0; times < 20; times++) await setImmediate();
    expect([server.requests.length, refused.size]).toEqual([50, 50]);
    expect(new Set(await store.states())).toEqual(new Set(["pending"]));
    isFull = false;
    await passUntil(run, () => clock.advance(1_000));
    expect([server.requests.length, new Set(server.ids()).size, observed.length]).toEqual([
      80, 80, 80,
    ]);
    expect(logged.filter((line) => line === "delivery.store_failed oncall")).toHaveLength(1);
  });

  it("prevents nothing stored from being sent while it accepts nothing new", async () => {
    const server = await startReceiverServer(status(503));
    let isFull = false;
    const { notifier, clock, insert, pass } = openDelivery(server, {
      outbox: (outbox) => ({
        compose: (...composed) => (isFull ? refuse() : outbox.compose(...composed)),
      }),
    });
    await insert(fire("a"));
    await pass(0);
    isFull = true;
    server.answerWith(status(204));
    await insert(resolve("b"));
    clock.advance(minuteMs);
    const run = notifier.runOnce();
    await server.received(2);
    expect(new Set(server.ids()).size).toBe(1);
    isFull = false;
    await passUntil(run, () => clock.advance(1_000));
    expect([server.requests.length, new Set(server.ids()).size]).toEqual([3, 2]);
  });
});

function refuse(): Promise<never> {
  return Promise.reject(new Error("disk full"));
}

async function passUntil(run: Promise<void>, pass: () => void): Promise<void> {
  const state = { ended: false };
  void run.finally(() => (state.ended = true));
  while (!state.ended) {
    await setImmediate();
    pass();
  }
}
