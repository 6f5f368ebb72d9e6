import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire, told } from "./support/told.ts";

const hourMs = 3_600_000;

describe("a step of the wall clock", () => {
  it.each([-10 * hourMs, 10 * hourMs, -48 * hourMs, 48 * hourMs])(
    "by %i ms neither silences nor hastens a retry, nor ends it",
    async (stepMs) => {
      const server = await startReceiverServer(status(429, { "retry-after": "60" }));
      const store = openTestStore();
      const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
      await insertOutboxItems(store.kysely, [fire("a")]);
      await loop.runOnce();
      clock.stepUtc(stepMs);
      clock.advance(59_999);
      await loop.runOnce();
      expect(server.requests).toHaveLength(1);
      clock.advance(1);
      await loop.runOnce();
      expect(server.requests).toHaveLength(2);
      expect(await store.states()).toEqual(["pending"]);
    },
  );

  it.each([-48 * hourMs, 48 * hourMs])(
    "by %i ms gives what is caused after it neither more nor less time",
    async (stepMs) => {
      const server = await startReceiverServer(status(503));
      const store = openTestStore();
      const { loop, clock } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
      clock.stepUtc(stepMs);
      const causedAtMs = clock.now().utcMs;
      await insertOutboxItems(store.kysely, [{ ...fire("a"), causedAtMs }]);
      await loop.runOnce();
      clock.advance(24 * hourMs - 1);
      await loop.runOnce();
      expect(await store.states()).toEqual(["pending"]);
      clock.advance(1);
      await loop.runOnce();
      expect(await store.states()).toEqual(["dead"]);
    },
  );

  it("back by hours does not hold up a group that waits", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [
      webhook(server, c, { groupWaitMs: 5_000 }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.start();
    await loop.runOnce();
    clock.stepUtc(-10 * hourMs);
    clock.advance(5_000);
    await server.received(1);
    await loop.stop({ graceMs: 5_000 });
    expect(told(server)).toEqual(["firing a"]);
  });

  it.each([10 * hourMs, -10 * hourMs])(
    "by %i ms leaves the wait of a group whose first item comes after it as it is",
    async (stepMs) => {
      const server = await startReceiverServer();
      const store = openTestStore();
      const { loop, clock } = createDelivery(store.outbox, (c) => [
        webhook(server, c, { groupWaitMs: 5_000 }),
      ]);
      loop.start();
      await loop.runOnce();
      clock.stepUtc(stepMs);
      const causedAtMs = clock.now().utcMs;
      await insertOutboxItems(store.kysely, [{ ...fire("a"), causedAtMs }]);
      await loop.runOnce();
      clock.advance(4_999);
      await loop.runOnce();
      expect(told(server)).toEqual([]);
      clock.advance(1);
      await server.received(1);
      await loop.stop({ graceMs: 5_000 });
      expect(told(server)).toEqual(["firing a"]);
    },
  );

  it("back makes no delay of a message that is less than nothing", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop, clock, observed } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    clock.stepUtc(-hourMs);
    await loop.runOnce();
    expect(observed).toEqual(["delivered oncall 0s"]);
  });

  it("back by less than the group's wait does not have it wait once more", async () => {
    const server = await startReceiverServer();
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [
      webhook(server, c, { groupWaitMs: 30_000, groupBy: ["incident"] }),
    ]);
    const tell = async (name: string): Promise<void> => {
      const causedAtMs = clock.now().utcMs;
      await insertOutboxItems(store.kysely, [{ ...fire(name), causedAtMs }]);
      loop.wake(causedAtMs);
    };
    loop.start();
    await loop.runOnce();
    await tell("a");
    clock.advance(1_000);
    clock.stepUtc(-20_000);
    clock.advance(9_000);
    await tell("b");
    await server.received(1);
    expect(told(server)).toEqual(["firing a"]);
    await loop.stop({ graceMs: 5_000 });
  });
});
