import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { requestTimeoutMs } from "../../src/notify/outbound.ts";
import { openDelivery } from "./support/delivery.ts";
import { fire, outboxItem, resolve, sentTo } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";

describe("delivery", () => {
  it("sends a notification once, and counts and logs it once", async () => {
    const server = await startReceiverServer();
    const { notifier, clock, store, insert, observed, logged } = openDelivery(server);
    clock.advance(2_500);
    await insert(fire("a"));
    await notifier.runOnce();
    await notifier.runOnce();
    expect(sentTo(server)).toEqual(["firing a"]);
    expect(await store.states()).toEqual(["delivered"]);
    expect(observed).toEqual(["delivered oncall 2.5s"]);
    expect(logged).toEqual(["notification.delivered oncall"]);
  });

  it("measures the delay of a notification, and states it, from the oldest item", async () => {
    const server = await startReceiverServer();
    const settings = { groupBy: ["rule"] } as const;
    const { notifier, clock, insert, observed } = openDelivery(server, { settings });
    const laterMs = clock.now().utcMs + 240_000;
    await insert(fire("a"), { ...fire("b"), causedAtMs: laterMs });
    clock.advance(360_000);
    await notifier.runOnce();
    expect(observed).toEqual(["delivered oncall 360s"]);
    expect(server.requests.map(({ body }) => JSON.parse(body).data)).toMatchObject([
      { summary: "Late by 6m: 2 servers in error in us (research)", delayed_seconds: 360 },
    ]);
  });

  it("waits for the group, and then sends by itself", async () => {
    const server = await startReceiverServer();
    const settings = { groupWaitMs: 5_000, groupBy: ["rule"] } as const;
    const { notifier, clock, insert } = openDelivery(server, { settings });
    await insert(fire("a"));
    notifier.start();
    await notifier.runOnce();
    clock.advance(3_000);
    await insert(fire("b"));
    await notifier.runOnce();
    expect(server.requests).toHaveLength(0);
    clock.advance(2_000);
    await server.received(1);
    expect(sentTo(server)).toEqual(["firing a, firing b"]);
    await notifier.stop({ graceMs: 5_000 });
    expect(clock.armed).toBe(0);
  });

  it("waits for the group of items that are stored while many others are read", async () => {
    const server = await startReceiverServer();
    let isStored = false;
    const { notifier, clock, insert } = openDelivery(server, {
      settings: { groupWaitMs: 5_000, groupBy: ["incident"] },
      outbox: (outbox) => ({
        async openItems(...query) {
          if (!isStored) {
            isStored = true;
            clock.advance(500);
            await insert({ ...fire("b"), causedAtMs: clock.now().utcMs });
          }
          return outbox.openItems(...query);
        },
      }),
    });
    await insert(fire("a"));
    await notifier.runOnce();
    clock.advance(4_500);
    await notifier.runOnce();
    expect(sentTo(server)).toEqual(["firing a"]);
    clock.advance(500);
    await notifier.runOnce();
    expect(sentTo(server)).toEqual(["firing a", "firing b"]);
  });

  it("reads new items once their group can be due, and not before", async () => {
    const server = await startReceiverServer();
    const readsMs: number[] = [];
    const { notifier, clock, insert } = openDelivery(server, {
      settings: { groupWaitMs: 5_000 },
      outbox: (outbox) => ({
        openItems(...query) {
          readsMs.push(clock.now().utcMs);
          return outbox.openItems(...query);
        },
      }),
    });
    notifier.start();
    await notifier.runOnce();
    const startMs = clock.now().utcMs;
    clock.advance(1_000);
    await insert({ ...fire("a"), causedAtMs: startMs });
    notifier.wake(startMs);
    // Later items delay none.
    notifier.wake(startMs + 500);
    while (clock.armed === 0) await setImmediate();
    clock.advance(4_000);
    await server.received(1);
    expect(sentTo(server)).toEqual(["firing a"]);
    expect(readsMs).toEqual([startMs, startMs + 5_000]);
    await notifier.stop({ graceMs: 5_000 });
  });

  it("sends what is stored while the rest is composed", async () => {
    const server = await startReceiverServer();
    let composed = 0;
    const { notifier, insert } = openDelivery(server, {
      outbox: (outbox) => ({
        async compose(...notifications) {
          if (++composed === 2) await server.received(1);
          return outbox.compose(...notifications);
        },
      }),
    });
    await insert(...Array.from({ length: 101 }, (_, n) => fire(`i${n}`)));
    await notifier.runOnce();
    expect(server.requests).toHaveLength(101);
  });

  it("keeps the order of one server's notifications while the first is retried", async () => {
    const server = await startReceiverServer(status(503));
    const { notifier, clock, store, insert } = openDelivery(server);
    await insert(fire("a"));
    await notifier.runOnce();
    await insert(resolve("a"), fire("b"));
    await notifier.runOnce();
    expect(sentTo(server)).toEqual(["firing a", "firing b"]);
    server.answerWith(status(204));
    clock.advance(10_000);
    await notifier.runOnce();
    const order = sentTo(server);
    expect(order).toHaveLength(5);
    expect(order.indexOf("resolved a")).toBeGreaterThan(order.lastIndexOf("firing a"));
    expect(new Set(await store.states())).toEqual(new Set(["delivered"]));
  });

  it("sends the resolve also after the firing was dead-lettered", async () => {
    const server = await startReceiverServer((response, request) =>
      status(request.body.includes("incident.firing") ? 410 : 204)(response, request, 0),
    );
    const { notifier, insert, observed } = openDelivery(server);
    await insert(fire("a"), resolve("a"));
    await notifier.runOnce();
    expect(sentTo(server)).toEqual(["firing a", "resolved a"]);
    expect(observed).toEqual(["failed oncall gone", "dead oncall gone", "delivered oncall 0s"]);
  });

  it("has at most four attempts in flight at one receiver, and uses all four", async () => {
    const fourOpen = Promise.withResolvers<void>();
    const server = await startReceiverServer((response, _, index) => {
      if (index === 3) fourOpen.resolve();
      void fourOpen.promise.then(() => response.writeHead(204).end());
    });
    const { notifier, insert } = openDelivery(server);
    await insert(..."abcdefghijkl".split("").map(fire));
    await notifier.runOnce();
    expect(server.requests).toHaveLength(12);
    expect(server.mostOpen).toBe(4);
  });

  it("leaves items of a receiver that is not configured in the outbox", async () => {
    const server = await startReceiverServer();
    const { notifier, store, insert } = openDelivery(server);
    await insert(outboxItem({ receiver: "former" }));
    await notifier.runOnce();
    expect(await store.outbox.openItems("former", 10)).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
  });

  it("delays no receiver because another hangs", async () => {
    const [stuck, well] = [await startReceiverServer(hang), await startReceiverServer()];
    const { notifier, clock, insert, observed } = openDelivery({ stuck, well });
    const items = Array.from({ length: 20 }, (_, n) => [fire(`i${n}`), resolve(`i${n}`)]).flat();
    for (const receiver of ["stuck", "well"]) {
      await insert(...items.map((item) => ({ ...item, receiver })));
    }
    const run = notifier.runOnce();
    await Promise.all([well.received(40), stuck.received(4)]);
    expect(stuck.requests).toHaveLength(4);
    stuck.answerWith(status(204));
    clock.advance(requestTimeoutMs);
    await run;
    expect(observed.filter((line) => line === "failed stuck timeout")).toHaveLength(4);
  });
});

describe("stopping", () => {
  it("lets an attempt in flight end within the grace, and begins no other", async () => {
    const answer = Promise.withResolvers<void>();
    const server = await startReceiverServer((response) => {
      void answer.promise.then(() => response.writeHead(204).end());
    });
    const { notifier, clock, store, insert } = openDelivery(server);
    await insert(fire("a"), resolve("a"));
    notifier.start();
    await server.received(1);
    const stopped = notifier.stop({ graceMs: 5_000 });
    clock.advance(4_999);
    answer.resolve();
    await stopped;
    expect(await store.states()).toEqual(["delivered", "pending"]);
    expect(server.requests).toHaveLength(1);
    expect(clock.armed).toBe(0);
  });

  it("begins no attempt of what the store returns only afterwards", async () => {
    const server = await startReceiverServer();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const { notifier, clock, store, insert } = openDelivery(server, {
      outbox: (outbox) => ({
        async due(...query) {
          const due = await outbox.due(...query);
          asked.resolve();
          await answer.promise;
          return due;
        },
      }),
    });
    await insert(fire("a"));
    notifier.start();
    await asked.promise;
    const stopped = notifier.stop({ graceMs: 5_000 });
    answer.resolve();
    await stopped;
    expect(server.requests).toHaveLength(0);
    expect(await store.states()).toEqual(["pending"]);
    expect(clock.armed).toBe(0);
  });

  it("leaves no timer of a waiting retry", async () => {
    const server = await startReceiverServer(status(503));
    const { notifier, clock, insert } = openDelivery(server);
    await insert(fire("a"));
    notifier.start();
    await notifier.runOnce();
    expect(clock.armed).toBe(1);
    await notifier.stop({ graceMs: 5_000 });
    expect(clock.armed).toBe(0);
  });

  it("cuts short what outlasts the grace: it stays pending, uncounted", async () => {
    const server = await startReceiverServer(hang);
    const { notifier, clock, store, insert, observed } = openDelivery(server);
    await insert(fire("a"));
    notifier.start();
    await server.received(1);
    const stopped = notifier.stop({ graceMs: 5_000 });
    clock.advance(5_000);
    await stopped;
    expect(await store.states()).toEqual(["pending"]);
    expect(observed).toEqual([]);
    notifier.wake();
    expect(server.requests).toHaveLength(1);
    expect(clock.armed).toBe(0);
  });
});
