import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire } from "./support/told.ts";

const hourMs = 3_600_000;

describe("a failed attempt", () => {
  it.each([
    [301, "dead", "redirect"],
    [400, "dead", "rejected"],
    [404, "dead", "rejected"],
    [410, "dead", "gone"],
    [408, "pending", "timeout"],
    [425, "pending", "rate_limited"],
    [429, "pending", "rate_limited"],
    [500, "pending", "server_error"],
    [503, "pending", "server_error"],
  ])(
    "with status %i leaves the notification %s, for the reason %s",
    async (code, state, reason) => {
      const server = await startReceiverServer(status(code));
      const store = openTestStore();
      const { loop, observed } = createDelivery(store.outbox, (clock) => [webhook(server, clock)]);
      await insertOutboxItems(store.kysely, [fire("a")]);
      await loop.runOnce();
      expect(await store.states()).toEqual([state]);
      const dead = state === "dead" ? [`dead oncall ${reason}`] : [];
      expect(observed).toEqual([`failed oncall ${reason}`, ...dead]);
      expect(server.requests).toHaveLength(1);
    },
  );

  it("is a time-out when the receiver does not answer in 15 seconds", async () => {
    const server = await startReceiverServer(hang);
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    const turn = loop.runOnce();
    await server.received(1);
    clock.advance(14_999);
    expect(observed).toEqual([]);
    clock.advance(1);
    await turn;
    expect(observed).toEqual(["failed oncall timeout"]);
    expect(await store.states()).toEqual(["pending"]);
    expect(clock.armed).toBe(0);
  });

  it("is repeated under the same id, by itself once started", async () => {
    const server = await startReceiverServer(status(500));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.start();
    await loop.runOnce();
    server.answerWith(status(204));
    clock.advance(2_000);
    await server.received(2);
    await loop.stop({ graceMs: 5_000 });
    expect(new Set(server.ids()).size).toBe(1);
    expect(server.ids()[0]).toMatch(/^msg_[\w-]+$/);
    expect(await store.states()).toEqual(["delivered"]);
    expect(clock.armed).toBe(0);
  });

  it("waits as long as the receiver asked where that is longer than the backoff", async () => {
    const server = await startReceiverServer(status(429, { "retry-after": "600" }));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await loop.runOnce();
    clock.advance(599_999);
    await loop.runOnce();
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    await loop.runOnce();
    expect(server.requests).toHaveLength(2);
  });

  it("is logged once for a receiver that is down, and again after it had recovered", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock, logged } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    const turns = async (count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn++) {
        await loop.runOnce();
        clock.advance(300_000);
      }
    };
    await insertOutboxItems(store.kysely, [fire("a"), fire("b")]);
    await turns(5);
    expect(logged).toEqual(["notification.retry oncall"]);
    server.answerWith(status(200));
    await turns(1);
    server.answerWith(status(503));
    await insertOutboxItems(store.kysely, [fire("c")]);
    await turns(2);
    expect(logged.filter((line) => line === "notification.retry oncall")).toHaveLength(2);
  });

  it("is the last after 24 hours: the notification is dead, having expired", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    for (let hours = 0; hours < 24; hours++) {
      await loop.runOnce();
      expect(await store.states()).toEqual(["pending"]);
      clock.advance(hourMs);
    }
    await loop.runOnce();
    expect(await store.states()).toEqual(["dead"]);
    expect(observed.at(-1)).toBe("dead oncall expired");
    expect(server.requests).toHaveLength(25);
  });
});
