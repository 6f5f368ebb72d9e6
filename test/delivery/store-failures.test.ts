import { describe, expect, it } from "vitest";
import type { Outbox } from "../../src/delivery/outbox.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { startReceiverServer } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire } from "./support/told.ts";

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
});

/** A refusal that comes at once is over by then. */
function promisesRan(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
