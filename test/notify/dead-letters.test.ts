import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery, webhook } from "./support/delivery.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import type { ReceiverServer } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import type { TestStore } from "./support/test-store.ts";
import { fire } from "./support/told.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** What came in about receivers, as "receiver oncall takes no notifications (rejected)". */
function aboutReceivers(server: ReceiverServer): readonly string[] {
  return server.requests
    .map(({ body }): { data: { rule: string; summary: string } } => JSON.parse(body))
    .filter(({ data }) => data.rule === "receiver-failing")
    .map(({ data }) => data.summary);
}

describe("giving up", () => {
  it("comes when the receiver's own time is over, not before", async () => {
    const server = await startReceiverServer(status(503));
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [
      webhook(server, c, { giveUpAfterMs: hourMs }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await loop.runOnce();
    clock.advance(hourMs - 1);
    await loop.runOnce();
    expect(await store.states()).toEqual(["pending"]);
    clock.advance(1);
    await loop.runOnce();
    expect(await store.states()).toEqual(["dead"]);
    expect(await store.notifications.list({ limit: 9 })).toMatchObject([
      { state: "dead", lastReason: "expired", receiver: "oncall", attempts: 3 },
    ]);
  });

  it("is logged with its notification once, and of very many counted once a minute", async () => {
    const server = await startReceiverServer(status(400));
    const store = openTestStore();
    const { loop, clock, logged } = createDelivery(store.outbox, (c) => [webhook(server, c)]);
    await insertOutboxItems(
      store.kysely,
      Array.from({ length: 40 }, (_, n) => fire(`incident-${n}`)),
    );
    await loop.runOnce();
    const one = "notification.dead oncall";
    const more = "notification.more_dead oncall";
    expect(logged).toEqual([one]);
    clock.advance(minuteMs);
    expect(logged).toEqual([one, more]);
    await insertOutboxItems(store.kysely, [fire("in the second minute")]);
    await loop.runOnce();
    expect(logged).toEqual([one, more]);
    clock.advance(minuteMs);
    expect(logged).toEqual([one, more, more]);
    clock.advance(minuteMs);
    await insertOutboxItems(store.kysely, [fire("later"), fire("last")]);
    await loop.runOnce();
    await loop.stop({ graceMs: 0 });
    expect(logged).toEqual([one, more, more, one, more]);
    expect(clock.armed).toBe(0);
  });
});

describe("a receiver that does not take its notifications", () => {
  it("is told of to the others once, and so is that it takes them again", async () => {
    const [broken, well] = [await startReceiverServer(status(400)), await startReceiverServer()];
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (c) => [
      webhook(broken, c),
      webhook(well, c, { name: "other" }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a"), fire("b"), fire("c")]);
    await loop.runOnce();
    expect(aboutReceivers(well)).toEqual(["receiver oncall takes no notifications (rejected)"]);

    broken.answerWith(status(204));
    await insertOutboxItems(store.kysely, [fire("d"), fire("e")]);
    await loop.runOnce();
    expect(aboutReceivers(well)).toEqual([
      "receiver oncall takes no notifications (rejected)",
      "receiver oncall takes notifications again",
    ]);
    expect(aboutReceivers(broken)).toEqual([]);
  });

  it("is told of by itself, though the others have nothing else to do", async () => {
    const [broken, well] = [await startReceiverServer(status(410)), await startReceiverServer()];
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (c) => [
      webhook(broken, c),
      webhook(well, c, { name: "other" }),
    ]);
    loop.start();
    await insertOutboxItems(store.kysely, [fire("a")]);
    loop.wake();
    await well.received(1);
    await loop.stop({ graceMs: 5_000 });
    expect(aboutReceivers(well)).toEqual(["receiver oncall takes no notifications (gone)"]);
  });

  it("may be one of two: each is told of to the other once, and that ends", async () => {
    const [one, two] = [await startReceiverServer(status(400)), await startReceiverServer(hang)];
    two.answerWith(status(404));
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (c) => [
      webhook(one, c),
      webhook(two, c, { name: "other" }),
    ]);
    await insertOutboxItems(store.kysely, [fire("a")]);
    await loop.runOnce();
    expect(aboutReceivers(two)).toEqual(["receiver oncall takes no notifications (rejected)"]);
    expect(aboutReceivers(one)).toEqual(["receiver other takes no notifications (rejected)"]);
  });

  it("is not told of twice by a process that takes over, nor forgotten", async () => {
    const [broken, well] = [await startReceiverServer(status(400)), await startReceiverServer()];
    const first = openTestStore();
    const committed = Promise.withResolvers<void>();
    const killedAfterwards: TestStore["outbox"] = {
      ...first.outbox,
      async settle(...settled) {
        await first.outbox.settle(...settled);
        committed.resolve();
        return new Promise(() => {});
      },
    };
    const before = createDelivery(killedAfterwards, (c) => [webhook(broken, c)]);
    await insertOutboxItems(first.kysely, [fire("a")]);
    before.loop.start();
    await committed.promise;

    // The first process knew of no other receiver: whoever is new is told, like of any incident.
    const second = await first.reopen();
    const after = createDelivery(second.outbox, (c) => [
      webhook(broken, c),
      webhook(well, c, { name: "other" }),
    ]);
    await insertOutboxItems(second.kysely, [fire("b"), fire("c")]);
    await after.loop.runOnce();
    expect(aboutReceivers(well)).toEqual(["receiver oncall takes no notifications (rejected)"]);
    const incidents = await second.kysely.selectFrom("incidents").selectAll().execute();
    expect(incidents).toMatchObject([{ subject: "receiver", receiver: "oncall", target_id: null }]);
  });

  it("is told of once when the process is killed before it could keep what was refused", async () => {
    const [broken, well] = [await startReceiverServer(status(400)), await startReceiverServer()];
    const first = openTestStore();
    const killed = Promise.withResolvers<void>();
    const killedBefore: TestStore["outbox"] = {
      ...first.outbox,
      settle() {
        killed.resolve();
        return new Promise(() => {});
      },
    };
    const before = createDelivery(killedBefore, (c) => [webhook(broken, c)]);
    await insertOutboxItems(first.kysely, [fire("a")]);
    before.loop.start();
    await killed.promise;

    const second = await first.reopen();
    const after = createDelivery(second.outbox, (c) => [
      webhook(broken, c),
      webhook(well, c, { name: "other" }),
    ]);
    await after.loop.runOnce();
    expect(new Set(broken.ids()).size).toBe(1);
    expect(aboutReceivers(well)).toHaveLength(1);
    expect(await second.notifications.attempts(1)).toHaveLength(1);
  });
});
