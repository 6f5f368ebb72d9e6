import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import type { Delivery } from "./support/delivery.ts";
import { outboxItem } from "./support/items.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import type { TestStore } from "./support/test-store.ts";
import { fire, resolve, told } from "./support/told.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

async function replayAll({ notifications }: TestStore, { loop }: Delivery): Promise<number> {
  const count = await notifications.replay({ receiver: "oncall" }, loop.freshTimes);
  await loop.runOnce();
  return count;
}

describe("the attempts of a notification", () => {
  it("are kept with what the receiver answered", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    const firstAtMs = clock.now().utcMs;
    await loop.runOnce();
    server.answerWith(status(204));
    clock.advance(minuteMs);
    await loop.runOnce();
    expect(await store.notifications.attempts(1)).toEqual([
      { atMs: firstAtMs, reason: "server_error", detail: "HTTP 503" },
      { atMs: firstAtMs + minuteMs, reason: null, detail: null },
    ]);
  });

  it("are the first ten and the last ten of very many", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    const startMs = clock.now().utcMs;
    for (let hour = 0; hour < 24; hour++) {
      await loop.runOnce();
      clock.advance(hourMs);
    }
    const hours = (await store.notifications.attempts(1)).map(
      ({ atMs }) => (atMs - startMs) / hourMs,
    );
    expect(hours).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]);
    const [{ attempts } = { attempts: 0 }] = await store.notifications.list({ limit: 1 });
    expect(attempts).toBe(24);
  });
});

describe("a replay", () => {
  it("has delivered what was given up, under the same id and with its attempts", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const delivery = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), fire("b")]);
    await delivery.loop.runOnce();
    expect(await store.outbox.figures()).toMatchObject([{ dead: 2 }]);

    server.answerWith(status(204));
    expect(await replayAll(store, delivery)).toBe(2);
    expect(await store.states()).toEqual(["delivered", "delivered"]);
    expect(new Set(server.ids()).size).toBe(2);
    expect(await store.outbox.figures()).toEqual([]);
    expect(await store.notifications.find(1)).toMatchObject({ attempts: 2, lastReason: null });
  });

  it("gives a new time to give up, from then on", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const delivery = createDelivery(store.outbox, (c) => [
      webhook(server, c, { giveUpAfterMs: hourMs }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await delivery.loop.runOnce();
    delivery.clock.advance(5 * hourMs);
    server.answerWith(status(503));
    await replayAll(store, delivery);
    delivery.clock.advance(hourMs - 1);
    await delivery.loop.runOnce();
    expect(await store.states()).toEqual(["pending"]);
    delivery.clock.advance(1);
    await delivery.loop.runOnce();
    expect(await store.states()).toEqual(["dead"]);
  });

  it("keeps the order: a resolve that is replayed before its fire waits for it", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), resolve("a"), fire("b")]);
    await loop.runOnce();
    const { length } = server.requests;
    server.answerWith(status(503));
    const { notifications } = store;
    expect(await notifications.replay({ seqs: [3, 2] }, loop.freshTimes)).toBe(2);
    expect(await notifications.replay({ seqs: [1] }, loop.freshTimes)).toBe(1);
    await loop.runOnce();
    expect(told(server).slice(length).toSorted()).toEqual(["firing a", "firing b"]);
    server.answerWith(status(204));
    clock.advance(10 * minuteMs);
    await loop.runOnce();
    const order = told(server).slice(length + 2);
    expect(order.toSorted()).toEqual(["firing a", "firing b", "resolved a"]);
    expect(order.indexOf("firing a")).toBeLessThan(order.indexOf("resolved a"));
  });

  it("keeps the order: a resolve that is replayed after its fire waits for it", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), resolve("a")]);
    await loop.runOnce();
    const { length } = server.requests;
    server.answerWith(status(503));
    await store.notifications.replay({ seqs: [1] }, loop.freshTimes);
    await loop.runOnce();
    await store.notifications.replay({ seqs: [2] }, loop.freshTimes);
    await loop.runOnce();
    expect(told(server).slice(length)).toEqual(["firing a"]);
  });

  it("holds back what is still pending about the same server", async () => {
    const server = await startReceiverServer((response, request) =>
      status(request.body.includes("incident.firing") ? 400 : 503)(response, request, 0),
    );
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), resolve("a")]);
    await loop.runOnce();
    expect(await store.states()).toEqual(["dead", "pending"]);

    const { length } = server.requests;
    server.answerWith(status(503));
    await store.notifications.replay({ receiver: "oncall" }, loop.freshTimes);
    clock.advance(10 * minuteMs);
    await loop.runOnce();
    expect(told(server).slice(length)).toEqual(["firing a"]);
    server.answerWith(status(204));
    clock.advance(10 * minuteMs);
    await loop.runOnce();
    expect(told(server).slice(length)).toEqual(["firing a", "firing a", "resolved a"]);
  });

  it("leaves alone what is not dead, or for another receiver", async () => {
    const [server, other] = [await startReceiverServer(), await startReceiverServer(status(400))];
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (c) => [
      webhook(server, c),
      webhook(other, c, { name: "other" }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a"), outboxItem({ receiver: "other" })]);
    await loop.runOnce();
    const { notifications } = store;
    const delivered = await notifications.list({ states: ["delivered"], limit: 9 });
    const seqs = [...delivered.map(({ seq }) => seq), 99];
    expect(await notifications.replay({ seqs }, loop.freshTimes)).toBe(0);
    expect(await notifications.replay({ receiver: "oncall" }, loop.freshTimes)).toBe(0);
    expect(await notifications.list({ states: ["dead"], limit: 9 })).toHaveLength(1);
  });

  it("of hundreds is done in their order, a few at a time", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const delivery = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    const items = Array.from({ length: 130 }, (_, n) => [fire(`${n}`), resolve(`${n}`)]).flat();
    await insertOutboxItems(store.kysely, items);
    await delivery.loop.runOnce();
    server.answerWith(status(204));
    const { length } = server.requests;
    expect(await replayAll(store, delivery)).toBe(260);
    const order = told(server).slice(length);
    expect(order).toHaveLength(260);
    for (let n = 0; n < 130; n++) {
      expect(order.indexOf(`firing ${n}`)).toBeLessThan(order.indexOf(`resolved ${n}`));
    }
  });
});

describe("what is discarded", () => {
  it("is not dead any more, and is never sent again", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const delivery = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a"), fire("b")]);
    await delivery.loop.runOnce();
    const atMs = delivery.clock.now().utcMs;
    expect(await store.notifications.discard({ seqs: [1] }, atMs)).toBe(1);
    expect(await store.notifications.discard({ seqs: [1] }, atMs)).toBe(0);
    expect(await store.states()).toEqual(["discarded", "dead"]);
    expect(await store.outbox.figures()).toMatchObject([{ dead: 1, pending: 0 }]);
    expect(await replayAll(store, delivery)).toBe(1);
    expect(server.requests).toHaveLength(3);
  });
});
