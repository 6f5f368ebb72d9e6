import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { composeDue } from "../../src/notify/compose.ts";
import { requestTimeoutMs } from "../../src/notify/outbound.ts";
import { insertOutboxItems } from "../../src/store/outbox-items.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { oneByOne, openDelivery, openStore } from "./support/delivery.ts";
import { fire, fireMany, outboxItem, resolve, sentTo, startMs } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";

const hourMs = 3_600_000;

describe("delivery", () => {
  it("sends a notification once, counts and logs it, and states that it is late", async () => {
    const server = await startReceiverServer();
    const settings = { groupBy: ["rule"] } as const;
    const { pass, store, insert, observed, logged } = openDelivery(server, { settings });
    await insert(fire("a"), { ...fire("b"), causedAtMs: startMs + 240_000 });
    await pass(360_000);
    await pass(0);
    expect(sentTo(server)).toEqual(["firing a, firing b"]);
    expect(await store.states()).toEqual(["delivered"]);
    expect(observed).toEqual(["delivered oncall 360s"]);
    expect(logged).toEqual(["notification.delivered oncall"]);
    expect(server.requests.map(({ body }) => JSON.parse(body).data)).toMatchObject([
      {
        summary: "Late by 6m: 2 github servers in error in us/research since 09:30 UTC (6 min)",
        delayed_seconds: 360,
      },
    ]);
  });

  it("waits for the group, reads items once they can be due, and then sends by itself", async () => {
    const server = await startReceiverServer();
    const readsMs: number[] = [];
    const { notifier, clock, insert } = openDelivery(server, {
      settings: { groupWaitMs: 5_000, groupBy: ["rule"] },
      outbox: (outbox) => ({
        openItems(...query) {
          readsMs.push(clock.now().utcMs - startMs);
          return outbox.openItems(...query);
        },
      }),
    });
    notifier.start();
    await notifier.runOnce();
    clock.advance(1_000);
    await insert(fire("a"), { ...fire("b"), causedAtMs: startMs + 500 });
    notifier.wake(startMs);
    notifier.wake(startMs + 500);
    while (clock.armed === 0) await setImmediate();
    clock.advance(4_000);
    await server.received(1);
    await notifier.stop({ graceMs: 5_000 });
    expect([sentTo(server), readsMs]).toEqual([["firing a, firing b"], [0, 5_000]]);
  });

  it("keeps the order of one server's notifications while the first is retried", async () => {
    const server = await startReceiverServer(status(503));
    const { pass, store, insert } = openDelivery(server);
    await insert(fire("a"));
    await pass(0);
    await insert(resolve("a"), fire("b"));
    await pass(0);
    expect(sentTo(server)).toEqual(["firing a", "firing b"]);
    server.answerWith(status(204));
    await pass(10_000);
    const order = sentTo(server);
    expect(order).toHaveLength(5);
    expect(order.indexOf("resolved a")).toBeGreaterThan(order.lastIndexOf("firing a"));
    expect(new Set(await store.states())).toEqual(new Set(["delivered"]));
  });

  it("sends nothing until the time has passed that a receiver with a rate limit demanded", async () => {
    const server = await startReceiverServer(status(429, { "retry-after": "300" }));
    const { pass, insert } = openDelivery(server);
    await insert(fire("a"));
    await pass(0);
    server.answerWith(status(204));
    await insert(fire("b"));
    await pass(299_999);
    expect(sentTo(server)).toEqual(["firing a"]);
    await pass(1);
    expect(sentTo(server).toSorted()).toEqual(["firing a", "firing a", "firing b"]);
  });

  it("has at most four attempts in flight at one receiver, and delays no other", async () => {
    const [stuck, well] = [await startReceiverServer(hang), await startReceiverServer()];
    let mostRead = 0;
    const { notifier, clock, insert, observed } = openDelivery(
      { stuck, well },
      {
        outbox: (outbox) => ({
          async ready(...query) {
            const ready = await outbox.ready(...query);
            mostRead = Math.max(mostRead, ready.length);
            return ready;
          },
        }),
      },
    );
    for (const receiver of ["stuck", "well"]) {
      await insert(...fireMany(40).map((item) => ({ ...item, receiver })));
    }
    const run = notifier.runOnce();
    await Promise.all([well.received(40), stuck.received(4)]);
    expect([stuck.requests.length, stuck.mostOpen, mostRead]).toEqual([4, 4, 4]);
    stuck.answerWith(status(204));
    clock.advance(requestTimeoutMs);
    await run;
    expect(observed.filter((line) => line === "failed stuck timeout")).toHaveLength(4);
  });

  it("composes what comes after very many items that wait for their group's interval", async () => {
    const { kysely, outbox, notifications } = openStore();
    const settings = { ...oneByOne, groupIntervalMs: 24 * hourMs };
    const insert = async (sandboxId: string, from: number, count: number): Promise<void> => {
      const items = Array.from({ length: count }, (_, n) =>
        outboxItem({ incident: { id: `${sandboxId} ${from + n}`, sandboxId } }),
      );
      await kysely.transaction().execute((trx) => insertOutboxItems(trx, items));
    };
    const nothing = () => Promise.resolve();
    const compose = (nowMs: number): Promise<number | null> =>
      composeDue("oncall", settings, {
        outbox,
        clock: createFakeClock(nowMs),
        deliveryClock: () => nowMs,
        onStored: nothing,
        signal: AbortSignal.any([]),
        onHeld: () => {},
      });
    await insert("large", 0, 1);
    await compose(startMs);
    await insert("large", 1, 9_999);
    expect(await compose(startMs + 1)).toBe(startMs + 24 * hourMs);
    await insert("large", 10_000, 1);
    await insert("other", 0, 1);
    expect(await compose(startMs + 2)).toBeNull();
    const composed = await notifications.list({ limit: 9 });
    expect(composed.map(({ summary }) => summary)).toEqual([
      "1 github server in error in us/research since 09:30 UTC",
      "10,000 github servers in error in us/research since 09:30 UTC",
      "1 github server in error in us/research since 09:30 UTC",
    ]);
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
    expect([server.requests.length, clock.armed]).toEqual([1, 0]);
  });

  it("aborts what outlasts the grace, which remains pending and uncounted", async () => {
    const server = await startReceiverServer(hang);
    const { notifier, clock, store, insert, observed } = openDelivery(server);
    await insert(fire("a"));
    notifier.start();
    await server.received(1);
    const stopped = notifier.stop({ graceMs: 5_000 });
    clock.advance(5_000);
    await stopped;
    notifier.wake();
    expect([await store.states(), observed]).toEqual([["pending"], []]);
    expect([server.requests.length, clock.armed]).toEqual([1, 0]);
  });
});

describe("a receiver of a process that is not active any more", () => {
  it("gets nothing while this process may not act", async () => {
    const server = await startReceiverServer();
    let mayAct = false;
    const { pass, insert } = openDelivery(server, { mayAct: () => mayAct });
    await insert(fire("a"));
    await pass(0);
    expect(sentTo(server)).toEqual([]);
    mayAct = true;
    await pass(0);
    expect(sentTo(server)).toEqual(["firing a"]);
  });

  it("is not read again and again meanwhile", async () => {
    let reads = 0;
    const { notifier, clock, insert } = openDelivery(await startReceiverServer(), {
      mayAct: () => false,
      outbox: (outbox) => ({
        ready(...of) {
          reads += 1;
          return outbox.ready(...of);
        },
      }),
    });
    await insert(fire("a"));
    notifier.start();
    await expect.poll(() => clock.armed).toBe(1);
    const before = reads;
    clock.advance(499);
    await notifier.stop({ graceMs: 0 });
    expect(reads).toBe(before);
  });
});

describe("a step of the wall clock", () => {
  it.each([-48, 48])("by %i hours neither delays nor hastens a retry", async (hours) => {
    const server = await startReceiverServer(status(429, { "retry-after": "60" }));
    const { clock, store, insert, pass } = openDelivery(server);
    await insert(fire("a"));
    await pass(0);
    clock.stepUtc(hours * hourMs);
    await pass(59_999);
    expect(server.requests).toHaveLength(1);
    await pass(1);
    expect(server.requests).toHaveLength(2);
    server.answerWith(status(503));
    await pass(24 * hourMs - 60_001);
    expect(await store.states()).toEqual(["pending"]);
    await pass(1);
    expect(await store.states()).toEqual(["dead"]);
  });

  it.each<[what: string, causedAfterMs: number, stepMs: number]>([
    ["back does not delay a waiting group", 0, -10 * hourMs],
    ["back by less than the group's wait ends the wait", 0, -20_000],
    ["makes items from the future due", 60_000, 0],
  ])("%s", async (_, causedAfterMs, stepMs) => {
    const server = await startReceiverServer();
    const settings = { groupWaitMs: 30_000, groupBy: ["incident"] } as const;
    const { notifier, clock, insert, observed } = openDelivery(server, { settings });
    notifier.start();
    await notifier.runOnce();
    const causedAtMs = startMs + causedAfterMs;
    await insert({ ...fire("a"), causedAtMs });
    notifier.wake(causedAtMs);
    clock.advance(1_000);
    clock.stepUtc(stepMs);
    notifier.wake(clock.now().utcMs);
    await server.received(1);
    await notifier.stop({ graceMs: 5_000 });
    expect(observed).toEqual(["delivered oncall 0s"]);
  });
});
