import { describe, expect, it } from "vitest";
import { openDelivery } from "./support/delivery.ts";
import { fire, sentTo } from "./support/items.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";

const hourMs = 3_600_000;

describe("a step of the wall clock", () => {
  it.each([-48 * hourMs, 48 * hourMs])(
    "by %i ms neither delays nor hastens a retry, nor the end of all",
    async (stepMs) => {
      const server = await startReceiverServer(status(429, { "retry-after": "60" }));
      const { notifier, clock, store, insert } = openDelivery(server);
      await insert(fire("a"));
      await notifier.runOnce();
      clock.stepUtc(stepMs);
      clock.advance(59_999);
      await notifier.runOnce();
      expect(server.requests).toHaveLength(1);
      clock.advance(1);
      await notifier.runOnce();
      expect(server.requests).toHaveLength(2);
      server.answerWith(status(503));
      clock.advance(24 * hourMs - 60_001);
      await notifier.runOnce();
      expect(await store.states()).toEqual(["pending"]);
      clock.advance(1);
      await notifier.runOnce();
      expect(await store.states()).toEqual(["dead"]);
    },
  );

  it.each([-10 * hourMs, 10 * hourMs])(
    "by %i ms changes nothing for items that are caused after it",
    async (stepMs) => {
      const server = await startReceiverServer(status(503));
      const settings = { groupWaitMs: 5_000, giveUpAfterMs: hourMs };
      const { notifier, clock, store, insert } = openDelivery(server, { settings });
      await notifier.runOnce();
      clock.stepUtc(stepMs);
      await insert({ ...fire("a"), causedAtMs: clock.now().utcMs });
      for (const [passedMs, requests, state] of [
        [4_999, 0, undefined],
        [1, 1, "pending"],
        [hourMs - 1, 2, "pending"],
        [1, 3, "dead"],
      ] as const) {
        clock.advance(passedMs);
        await notifier.runOnce();
        expect([server.requests.length, ...(await store.states())]).toEqual(
          state === undefined ? [requests] : [requests, state],
        );
      }
    },
  );

  it("back by hours does not delay a waiting group, nor make a delay negative", async () => {
    const server = await startReceiverServer();
    const settings = { groupWaitMs: 5_000 };
    const { notifier, clock, insert, observed } = openDelivery(server, { settings });
    await insert(fire("a"));
    notifier.start();
    await notifier.runOnce();
    clock.stepUtc(-10 * hourMs);
    clock.advance(5_000);
    await server.received(1);
    await notifier.stop({ graceMs: 5_000 });
    expect(observed).toEqual(["delivered oncall 0s"]);
  });

  it("makes items from the future due at once", async () => {
    const server = await startReceiverServer();
    const settings = { groupWaitMs: 5_000 };
    const { notifier, clock, insert } = openDelivery(server, { settings });
    notifier.start();
    await notifier.runOnce();
    const causedAtMs = clock.now().utcMs + 60_000;
    await insert({ ...fire("a"), causedAtMs });
    notifier.wake(causedAtMs);
    await server.received(1);
    expect(sentTo(server)).toEqual(["firing a"]);
    await notifier.stop({ graceMs: 5_000 });
  });

  it("back by less than the group's wait ends the wait", async () => {
    const server = await startReceiverServer();
    const settings = { groupWaitMs: 30_000, groupBy: ["incident"] } as const;
    const { notifier, clock, insert } = openDelivery(server, { settings });
    const cause = async (name: string): Promise<void> => {
      const causedAtMs = clock.now().utcMs;
      await insert({ ...fire(name), causedAtMs });
      notifier.wake(causedAtMs);
    };
    notifier.start();
    await notifier.runOnce();
    await cause("a");
    clock.advance(1_000);
    clock.stepUtc(-20_000);
    clock.advance(9_000);
    await cause("b");
    await server.received(1);
    expect(sentTo(server)).toEqual(["firing a"]);
    await notifier.stop({ graceMs: 5_000 });
  });
});
