import { describe, expect, it } from "vitest";
import type { Outbox } from "../../src/notify/outbox.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { outboxItem, startMs } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";

const hourMs = 3_600_000;
const minuteMs = 60_000;

describe("a restart", () => {
  it("in the middle of an attempt repeats it under the same id, and the rest in order", async () => {
    const server = await startReceiverServer(hang);
    const first = openTestStore();
    const before = createDelivery(first.outbox, (clock) => [webhook(server, clock)]);
    const resolved = outboxItem({ type: "incident.resolved" });
    await insertOutboxItems(first.kysely, [outboxItem(), resolved]);
    before.loop.start();
    await server.received(1);

    const second = await first.reopen();
    server.answerWith(status(204));
    const after = createDelivery(second.outbox, (clock) => [webhook(server, clock)]);
    await after.loop.runOnce();
    const [interrupted, repeated, next, ...more] = server.ids();
    expect(repeated).toBe(interrupted);
    expect(next).not.toBe(interrupted);
    expect(more).toEqual([]);
    expect(await second.states()).toEqual(["delivered", "delivered"]);
  });

  it("between the receiver's yes and its marking repeats the message under the same id", async () => {
    const server = await startReceiverServer();
    const first = openTestStore();
    const killed = Promise.withResolvers<void>();
    const outbox: Outbox = {
      ...first.outbox,
      settle() {
        killed.resolve();
        return new Promise(() => {});
      },
    };
    const before = createDelivery(outbox, (clock) => [webhook(server, clock)]);
    await insertOutboxItems(first.kysely, [outboxItem()]);
    before.loop.start();
    await killed.promise;

    const second = await first.reopen();
    const after = createDelivery(second.outbox, (clock) => [webhook(server, clock)]);
    await after.loop.runOnce();
    await after.loop.runOnce();
    expect(server.requests).toHaveLength(2);
    expect(new Set(server.ids()).size).toBe(1);
  });

  it("before a group was composed loses nothing and composes it once", async () => {
    const server = await startReceiverServer();
    const first = openTestStore();
    const before = createDelivery(first.outbox, (clock) => [
      webhook(server, clock, { groupWaitMs: 5_000 }),
    ]);
    await insertOutboxItems(first.kysely, [outboxItem()]);
    await before.loop.runOnce();

    const second = await first.reopen();
    const clock = createFakeClock(startMs + 5_000);
    const receivers = [webhook(server, clock, { groupWaitMs: 5_000 })];
    const after = createDelivery(second.outbox, () => receivers, clock);
    await after.loop.runOnce();
    expect(server.requests).toHaveLength(1);
  });

  it("before what was composed was committed composes it again under the same id", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const composed: string[] = [];
    const outbox: Outbox = {
      ...store.outbox,
      compose(notifications) {
        composed.push(...notifications.map(({ notification }) => notification.id));
        return Promise.reject(new Error("killed"));
      },
    };
    await insertOutboxItems(store.kysely, [outboxItem()]);
    const before = createDelivery(outbox, (clock) => [webhook(server, clock)]);
    const failed = before.nextLog("delivery.store_failed oncall");
    before.loop.start();
    await failed;
    await before.loop.stop({ graceMs: 0 });

    const clock = createFakeClock(startMs + minuteMs);
    const after = createDelivery(store.outbox, (c) => [webhook(server, c)], clock);
    await after.loop.runOnce();
    expect(server.ids()).toEqual(composed);
  });

  it.each([-10 * hourMs, 0, 48 * hourMs])(
    "on a wall clock that moved by %i ms tries again within five minutes, more than once, and for no more than a day",
    async (movedMs) => {
      const server = await startReceiverServer(status(503, { "retry-after": "3600" }));
      const first = openTestStore();
      const before = createDelivery(first.outbox, (clock) => [webhook(server, clock)]);
      await insertOutboxItems(first.kysely, [outboxItem()]);
      await before.loop.runOnce();

      const second = await first.reopen();
      server.answerWith(status(503));
      const clock = createFakeClock(startMs + movedMs);
      const after = createDelivery(second.outbox, (c) => [webhook(server, c)], clock);
      await after.loop.runOnce();
      clock.advance(5 * minuteMs - 1);
      await after.loop.runOnce();
      expect(await second.states()).toEqual(["pending"]);
      clock.advance(1);
      await after.loop.runOnce();
      expect(server.requests.length).toBeGreaterThanOrEqual(2);
      clock.advance(24 * hourMs);
      await after.loop.runOnce();
      expect(await second.states()).toEqual(["dead"]);
    },
  );

  it.each([
    ["five minutes", 24 * hourMs, 5 * minuteMs],
    ["its whole time where that is shorter", minuteMs, minuteMs],
  ])("after the time to give up has come tries again for %s", async (_, giveUpAfterMs, leftMs) => {
    const server = await startReceiverServer(status(503, { "retry-after": "604800" }));
    const first = openTestStore();
    const before = createDelivery(first.outbox, (c) => [webhook(server, c, { giveUpAfterMs })]);
    await insertOutboxItems(first.kysely, [outboxItem()]);
    await before.loop.runOnce();

    const second = await first.reopen();
    const clock = createFakeClock(startMs + 48 * hourMs);
    const receivers = [webhook(server, clock, { giveUpAfterMs })];
    const after = createDelivery(second.outbox, () => receivers, clock);
    await after.loop.runOnce();
    clock.advance(leftMs - 1);
    await after.loop.runOnce();
    expect([server.requests.length, await second.states()]).toEqual([2, ["pending"]]);
    clock.advance(1);
    await after.loop.runOnce();
    expect([server.requests.length, await second.states()]).toEqual([3, ["dead"]]);
  });

  it("leaves a notification the time it had, however long nobody tried or far the clock moved", async () => {
    const server = await startReceiverServer(status(503));
    const first = openTestStore();
    const earlier = createFakeClock();
    const before = createDelivery(first.outbox, (clock) => [webhook(server, clock)], earlier);
    await insertOutboxItems(first.kysely, [outboxItem()]);
    await before.loop.runOnce();
    earlier.advance(10 * hourMs);
    await before.loop.runOnce();

    const second = await first.reopen();
    const clock = createFakeClock(startMs + 72 * hourMs);
    const after = createDelivery(second.outbox, (c) => [webhook(server, c)], clock);
    await after.loop.runOnce();
    clock.advance(13 * hourMs);
    await after.loop.runOnce();
    expect(await second.states()).toEqual(["pending"]);
    clock.advance(hourMs);
    await after.loop.runOnce();
    expect(await second.states()).toEqual(["dead"]);
  });
});
