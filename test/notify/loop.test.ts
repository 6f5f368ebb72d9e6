import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { requestTimeoutMs } from "../../src/notify/outbound.ts";
import type { Outbox } from "../../src/notify/outbox.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { outboxItem } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire, resolve, told } from "./support/told.ts";

describe("delivery", () => {
  it("marks a notification as delivered when the receiver took it, and says so once", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const delivery = createDelivery(store.outbox, (clock) => [webhook(server, clock)]);
    delivery.clock.advance(2_500);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await delivery.loop.runOnce();
    await delivery.loop.runOnce();
    expect(told(server)).toEqual(["firing a"]);
    expect(await store.states()).toEqual(["delivered"]);
    expect(delivery.observed).toEqual(["delivered oncall 2.5s"]);
    expect(delivery.logged).toEqual(["notification.delivered oncall"]);
  });

  it("measures the delay of a message, and states its lateness, from the oldest item", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [
      webhook(server, c, { groupBy: ["rule"] }),
    ]);
    const minuteMs = 60_000;
    const laterMs = clock.now().utcMs + 4 * minuteMs;
    await insertOutboxItems(store.kysely, [fire("a"), { ...fire("b"), causedAtMs: laterMs }]);
    clock.advance(6 * minuteMs);
    await loop.runOnce();
    expect(observed).toEqual(["delivered oncall 360s"]);
    expect(server.requests.map(({ body }) => JSON.parse(body).data)).toMatchObject([
      { summary: "Late by 6m: 2 servers in error in us (research)", delayed_seconds: 360 },
    ]);
  });

  it("waits for the group, by itself once started", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [
      webhook(server, c, { groupWaitMs: 5_000, groupBy: ["rule"] }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.start();
    await loop.runOnce();
    clock.advance(3_000);
    await insertOutboxItems(store.kysely, [fire("b")]);
    await loop.runOnce();
    expect(server.requests).toHaveLength(0);
    clock.advance(2_000);
    await server.received(1);
    expect(told(server)).toEqual(["firing a, firing b"]);
    await loop.stop({ graceMs: 5_000 });
    expect(clock.armed).toBe(0);
  });

  it("waits for the group of what comes while many items are read", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    let hasCome = false;
    const { loop, clock } = createDelivery(
      {
        ...store.outbox,
        async openItems(receiver, limit) {
          if (hasCome) return store.outbox.openItems(receiver, limit);
          hasCome = true;
          clock.advance(500);
          await insertOutboxItems(store.kysely, [{ ...fire("b"), causedAtMs: clock.now().utcMs }]);
          return store.outbox.openItems(receiver, limit);
        },
      },
      (c) => [webhook(server, c, { groupWaitMs: 5_000, groupBy: ["incident"] })],
    );
    await insertOutboxItems(store.kysely, [fire("a")]);
    await loop.runOnce();
    clock.advance(4_500);
    await loop.runOnce();
    expect(told(server)).toEqual(["firing a"]);
    clock.advance(500);
    await loop.runOnce();
    expect(told(server)).toEqual(["firing a", "firing b"]);
  });

  it("wakes for new items", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (clock) => [webhook(server, clock)]);
    loop.start();
    await loop.runOnce();
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.wake();
    await server.received(1);
    await loop.stop({ graceMs: 5_000 });
    expect(await store.states()).toEqual(["delivered"]);
  });

  it("reads new items once their group can be due, and not before", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const readsMs: number[] = [];
    const openItems: Outbox["openItems"] = (...asked) => {
      readsMs.push(clock.now().utcMs);
      return store.outbox.openItems(...asked);
    };
    const { loop, clock } = createDelivery({ ...store.outbox, openItems }, (c) => [
      webhook(server, c, { groupWaitMs: 5_000 }),
    ]);
    loop.start();
    await loop.runOnce();
    const startMs = clock.now().utcMs;
    clock.advance(1_000);
    await insertOutboxItems(store.kysely, [{ ...fire("a"), causedAtMs: startMs }]);
    loop.wake(startMs);
    // What comes later keeps nothing waiting.
    loop.wake(startMs + 500);
    while (clock.armed === 0) await setImmediate();
    clock.advance(4_000);
    await server.received(1);
    expect(told(server)).toEqual(["firing a"]);
    expect(readsMs).toEqual([startMs, startMs + 5_000]);
    await loop.stop({ graceMs: 5_000 });
  });

  it("reads items of a time that is yet to come at once: the clock was set back", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [
      webhook(server, c, { groupWaitMs: 5_000 }),
    ]);
    loop.start();
    await loop.runOnce();
    const causedAtMs = clock.now().utcMs + 60_000;
    await insertOutboxItems(store.kysely, [{ ...fire("a"), causedAtMs }]);
    loop.wake(causedAtMs);
    await server.received(1);
    expect(told(server)).toEqual(["firing a"]);
    await loop.stop({ graceMs: 5_000 });
  });

  it("never lets a resolve overtake its fire, though the fire fails and is retried", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await loop.runOnce();
    await insertOutboxItems(store.kysely, [resolve("a"), fire("b")]);
    await loop.runOnce();
    expect(told(server)).toEqual(["firing a", "firing b"]);
    server.answerWith(status(204));
    clock.advance(10_000);
    await loop.runOnce();
    const order = told(server);
    expect(order.toSorted()).toEqual(
      ["firing a", "firing a", "firing b", "firing b", "resolved a"].toSorted(),
    );
    expect(order.indexOf("resolved a")).toBeGreaterThan(order.lastIndexOf("firing a"));
    expect(new Set(await store.states())).toEqual(new Set(["delivered"]));
  });

  it("tells the resolve also when the fire is dead", async () => {
    const server = await startReceiverServer((response, request) =>
      status(request.body.includes("incident.firing") ? 410 : 204)(response, request, 0),
    );
    const store = openTestStore();
    const { loop, observed } = createDelivery(store.outbox, (clock) => [webhook(server, clock)]);
    await insertOutboxItems(store.kysely, [fire("a"), resolve("a")]);
    await loop.runOnce();
    expect(told(server)).toEqual(["firing a", "resolved a"]);
    expect(observed).toEqual(["failed oncall gone", "dead oncall gone", "delivered oncall 0s"]);
  });

  it("keeps at most four in flight for one receiver, and uses all four", async () => {
    const store = openTestStore();
    const fourOpen = Promise.withResolvers<void>();
    const server = await startReceiverServer((response, _, index) => {
      if (index === 3) fourOpen.resolve();
      void fourOpen.promise.then(() => response.writeHead(204).end());
    });
    const { loop } = createDelivery(store.outbox, (clock) => [webhook(server, clock)]);
    await insertOutboxItems(store.kysely, "abcdefghijkl".split("").map(fire));
    await loop.runOnce();
    expect(server.requests).toHaveLength(12);
    expect(server.mostOpen).toBe(4);
  });

  it("leaves what is for a receiver that is not configured where it is", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (clock) => [webhook(server, clock)]);
    await insertOutboxItems(store.kysely, [outboxItem({ receiver: "former" })]);
    await loop.runOnce();
    expect(await store.outbox.openItems("former", 10)).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
  });

  it("does not let one receiver that hangs delay another", async () => {
    const [stuck, well] = [await startReceiverServer(hang), await startReceiverServer()];
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [
      webhook(stuck, c, { name: "stuck" }),
      webhook(well, c, { name: "well" }),
    ]);
    const ids = Array.from({ length: 20 }, (_, n) => `i${n}`);
    const items = ids.flatMap((id) => [fire(id), resolve(id)]);
    await insertOutboxItems(
      store.kysely,
      items.flatMap((item) => ["stuck", "well"].map((receiver) => ({ ...item, receiver }))),
    );
    const turn = loop.runOnce();
    await Promise.all([well.received(40), stuck.received(4)]);
    expect(stuck.requests).toHaveLength(4);
    stuck.answerWith(status(204));
    clock.advance(requestTimeoutMs);
    await turn;
    expect(observed.filter((line) => line === "failed stuck timeout")).toHaveLength(4);
  });
});

describe("stopping", () => {
  it("lets an attempt in flight end within the grace", async () => {
    const store = openTestStore();
    const answer = Promise.withResolvers<void>();
    const server = await startReceiverServer((response) => {
      void answer.promise.then(() => response.writeHead(204).end());
    });
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), resolve("a")]);
    loop.start();
    await server.received(1);
    const stopped = loop.stop({ graceMs: 5_000 });
    clock.advance(4_999);
    answer.resolve();
    await stopped;
    expect(await store.states()).toEqual(["delivered", "pending"]);
    expect(server.requests).toHaveLength(1);
    expect(clock.armed).toBe(0);
  });

  it("begins no attempt of what the store gives only afterwards", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const asked = Promise.withResolvers<void>();
    const given = Promise.withResolvers<void>();
    const outbox: Outbox = {
      ...store.outbox,
      async due(...query) {
        const due = await store.outbox.due(...query);
        expect(due).toHaveLength(1);
        asked.resolve();
        await given.promise;
        return due;
      },
    };
    const { loop, clock } = createDelivery(outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.start();
    await asked.promise;
    const stopped = loop.stop({ graceMs: 5_000 });
    given.resolve();
    await stopped;
    expect(server.requests).toHaveLength(0);
    expect(await store.states()).toEqual(["pending"]);
    expect(clock.armed).toBe(0);
  });

  it("leaves no timer behind, though a retry was waiting", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.start();
    await loop.runOnce();
    expect(clock.armed).toBe(1);
    await loop.stop({ graceMs: 5_000 });
    expect(clock.armed).toBe(0);
  });

  it("cuts short what outlasts the grace: it stays pending, uncounted", async () => {
    const server = await startReceiverServer(hang);
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.start();
    await server.received(1);
    const stopped = loop.stop({ graceMs: 5_000 });
    clock.advance(5_000);
    await stopped;
    expect(await store.states()).toEqual(["pending"]);
    expect(observed).toEqual([]);
    loop.wake();
    expect(server.requests).toHaveLength(1);
    expect(clock.armed).toBe(0);
  });
});
