import { describe, expect, it } from "vitest";
import type { Outbox } from "../../src/notify/outbox.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire, told } from "./support/told.ts";

describe("a store that fails", () => {
  it("is asked again after a second, and delivery goes on", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    let failures = 2;
    let calls = 0;
    const outbox: Outbox = {
      ...store.outbox,
      openItems(...query) {
        calls++;
        if (failures-- > 0) return Promise.reject(new Error("disk full"));
        return store.outbox.openItems(...query);
      },
    };
    const { loop, clock, nextLog, logged } = createDelivery(outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    const failed = nextLog("delivery.store_failed oncall");
    const turn = loop.runOnce();
    await failed;
    clock.advance(999);
    await promisesRan();
    expect(calls).toBe(1);
    clock.advance(1);
    await promisesRan();
    expect(calls).toBe(2);
    expect(server.requests).toHaveLength(0);
    clock.advance(1_000);
    await turn;
    expect(server.requests).toHaveLength(1);
    expect(logged).toEqual(["delivery.store_failed oncall", "notification.delivered oncall"]);
  });

  it("never makes a delivered notification be sent again by the same process", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    let failures = 1;
    const outbox: Outbox = {
      ...store.outbox,
      settle: (...settlement) =>
        failures-- > 0
          ? Promise.reject(new Error("disk full"))
          : store.outbox.settle(...settlement),
    };
    const { loop, clock, nextLog, observed } = createDelivery(outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    const failed = nextLog("delivery.store_failed oncall");
    const turn = loop.runOnce();
    await failed;
    clock.advance(1_000);
    await turn;
    expect(server.requests).toHaveLength(1);
    expect(observed).toEqual(["delivered oncall 0s"]);
    expect(await store.states()).toEqual(["delivered"]);
  });

  it("keeps nothing that was stored from being sent, once each, and settles it when it can", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const items = Array.from({ length: 9 }, (_, index) => fire(`s${index}`));
    await insertOutboxItems(store.kysely, items);
    let isFull = true;
    const outbox: Outbox = {
      ...store.outbox,
      settle: (...settlement) =>
        isFull ? Promise.reject(new Error("disk full")) : store.outbox.settle(...settlement),
    };
    const { loop, clock, logged } = createDelivery(outbox, (c) => [webhook(server, c)]);
    const turn = loop.runOnce();
    await server.received(items.length);
    expect(await store.states()).toEqual(items.map(() => "pending"));
    isFull = false;
    await afterAll(turn, () => clock.advance(1_000));
    expect(server.requests).toHaveLength(items.length);
    expect(await store.states()).toEqual(items.map(() => "delivered"));
    expect(logged.filter((line) => line === "delivery.store_failed oncall")).toHaveLength(1);
  });

  it("keeps nothing that was stored from being sent though it takes nothing new", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    await insertOutboxItems(store.kysely, [fire("a")]);
    let isFull = false;
    const outbox: Outbox = {
      ...store.outbox,
      compose: (...composed) =>
        isFull ? Promise.reject(new Error("disk full")) : store.outbox.compose(...composed),
    };
    server.answerWith(status(503));
    const { loop, clock } = createDelivery(outbox, (c) => [webhook(server, c)]);
    await loop.runOnce();
    isFull = true;
    server.answerWith(status(204));
    await insertOutboxItems(store.kysely, [fire("b")]);
    clock.advance(60_000);
    const turn = loop.runOnce();
    await server.received(2);
    expect(told(server)).toEqual(["firing a", "firing a"]);
    isFull = false;
    await afterAll(turn, () => clock.advance(1_000));
    expect(told(server)).toEqual(["firing a", "firing a", "firing b"]);
  });

  it("is not asked again and again for ever more that was sent", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    await insertOutboxItems(
      store.kysely,
      Array.from({ length: 80 }, (_, index) => fire(`s${index}`)),
    );
    const refused = new Set<number>();
    let isFull = true;
    const outbox: Outbox = {
      ...store.outbox,
      settle(seq, ...settlement) {
        if (!isFull) return store.outbox.settle(seq, ...settlement);
        refused.add(seq);
        return Promise.reject(new Error("disk full"));
      },
    };
    const { loop, clock } = createDelivery(outbox, (c) => [webhook(server, c)]);
    const turn = loop.runOnce();
    await server.received(50);
    for (let times = 0; times < 20; times++) await promisesRan();
    expect([server.requests.length, refused.size]).toEqual([50, 50]);
    isFull = false;
    await afterAll(turn, () => clock.advance(1_000));
    expect(new Set(server.ids()).size).toBe(80);
  });
});

/** Lets time pass until it has ended. */
async function afterAll(turn: Promise<void>, pass: () => void): Promise<void> {
  const state = { ended: false };
  const note = (): void => void (state.ended = true);
  turn.then(note, note);
  while (!state.ended) {
    await promisesRan();
    pass();
  }
  await turn;
}

/** A refusal that comes at once is over by then. */
function promisesRan(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
