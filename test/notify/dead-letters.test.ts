import { describe, expect, it } from "vitest";
import { createFakeClock } from "../support/fake-clock.ts";
import { openDelivery, type Delivery, type DeliveryOptions } from "./support/delivery.ts";
import { fire, fireMany, resolve, sentTo } from "./support/items.ts";
import { startReceiverServer, status, type ReceiverServer } from "./support/receiver-server.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The summaries about receivers that came in. */
function aboutReceivers(server: ReceiverServer): readonly string[] {
  return server.requests
    .map(({ body }): { data: { rule: string; summary: string } } => JSON.parse(body))
    .filter(({ data }) => data.rule === "receiver-failing")
    .map(({ data }) => data.summary);
}

type Which = Parameters<Delivery["store"]["notifications"]["replay"]>[0];

async function replay({ store, notifier }: Delivery, which: Which): Promise<number> {
  const count = await store.notifications.replay(which, notifier.freshTimes);
  await notifier.runOnce();
  return count;
}

/** Delivery to a receiver that answers 400, with these items dead-lettered. */
async function deadLettered(items = [fire("a"), fire("b")], options: DeliveryOptions = {}) {
  const server = await startReceiverServer(status(400));
  const delivery = openDelivery(server, options);
  await delivery.insert(...items);
  await delivery.pass(0);
  const { length } = server.requests;
  return { ...delivery, delivery, server, since: () => sentTo(server).slice(length) };
}

describe("dead letters", () => {
  it("are logged, of very many one a minute, and the others counted", async () => {
    const { notifier, clock, insert, pass, logged } = await deadLettered(fireMany(40));
    const one = "notification.dead oncall";
    const more = "notification.more_dead oncall";
    expect(logged).toEqual([one]);
    clock.advance(minuteMs);
    expect(logged).toEqual([one, more]);
    await insert(fire("in the second minute"));
    await pass(0);
    clock.advance(minuteMs);
    expect(logged).toEqual([one, more, more]);
    clock.advance(minuteMs);
    await insert(fire("later"), fire("last"));
    await pass(0);
    await notifier.stop({ graceMs: 0 });
    expect(logged).toEqual([one, more, more, one, more]);
    expect(clock.armed).toBe(0);
  });

  it("have their attempts with what the receiver answered, the first and last ten", async () => {
    const server = await startReceiverServer(status(503));
    const { pass, clock, store, insert } = openDelivery(server);
    await insert(fire("a"));
    const startMs = clock.now().utcMs;
    await pass(0);
    for (let hour = 1; hour < 24; hour++) await pass(hourMs);
    server.answerWith(status(404));
    await pass(hourMs);
    const attempts = await store.notifications.attempts([1]);
    expect(attempts.map(({ atMs }) => (atMs - startMs) / hourMs)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    ]);
    expect(attempts[0]).toMatchObject({ reason: "server_error", detail: "HTTP 503" });
    expect(attempts.at(-1)).toMatchObject({ reason: "rejected", detail: "HTTP 404" });
    expect(await store.notifications.list({ limit: 9 })).toMatchObject([
      { state: "dead", lastReason: "rejected", receiver: "oncall", attempts: 25 },
    ]);
  });
});

describe("a receiver that does not accept its notifications", () => {
  it("is reported to the others once, and so is that it accepts them again", async () => {
    const [oncall, other] = [await startReceiverServer(status(400)), await startReceiverServer()];
    const { notifier, insert, pass } = openDelivery({ oncall, other });
    notifier.start();
    await insert(fire("a"), fire("b"), fire("c"));
    notifier.wake();
    await other.received(1);
    await pass(0);
    expect(aboutReceivers(other)).toHaveLength(1);

    oncall.answerWith(status(204));
    await insert(fire("d"), fire("e"));
    await pass(0);
    expect(aboutReceivers(other)).toEqual([
      "receiver oncall not accepting notifications since 09:30 UTC (rejected)",
      "Resolved: receiver oncall not accepting notifications",
    ]);
    expect(aboutReceivers(oncall)).toEqual([]);
    await notifier.stop({ graceMs: 5_000 });
  });

  it.each(["before", "after"])(
    "is reported once when the process is killed %s that is stored",
    async (when) => {
      const [oncall, other] = [await startReceiverServer(status(400)), await startReceiverServer()];
      const killed = Promise.withResolvers<void>();
      const before = openDelivery(oncall, {
        outbox: ({ settle }) => ({
          async settle(...settled) {
            if (when === "after") await settle(...settled);
            killed.resolve();
            return new Promise(() => {});
          },
        }),
      });
      await before.insert(fire("a"));
      before.notifier.start();
      await killed.promise;

      // The first process had no other receiver: a new one is notified as of any incident.
      const store = before.store.restarted();
      const after = openDelivery({ oncall, other }, { store });
      await after.insert(fire("b"));
      await after.pass(0);
      expect(aboutReceivers(other)).toEqual([
        "receiver oncall not accepting notifications since 09:30 UTC (rejected)",
      ]);
      expect(new Set(oncall.ids()).size).toBe(2);
      expect(await store.notifications.attempts([1])).toHaveLength(1);
    },
  );
});

describe("a replay", () => {
  it("sends dead letters under the same id, with their attempts, and nothing else", async () => {
    const { delivery, server, store } = await deadLettered();
    server.answerWith(status(204));
    expect(await replay(delivery, { receiver: "other" })).toBe(0);
    expect(await replay(delivery, { receiver: "oncall" })).toBe(2);
    expect(new Set(server.ids().slice(2))).toEqual(new Set(server.ids().slice(0, 2)));
    const delivered = { state: "delivered", attempts: 2, lastReason: null };
    expect(await store.notifications.list({ limit: 9 })).toMatchObject([delivered, delivered]);
    expect(await replay(delivery, { seqs: [1, 2, 99] })).toBe(0);
    expect(server.requests).toHaveLength(4);
  });

  it("sends them at once, though the clock of the replica that was asked is ahead", async () => {
    const { server, store, clock, pass, since } = await deadLettered([fire("a")]);
    server.answerWith(status(204));
    const ahead = createFakeClock(clock.now().utcMs + hourMs);
    const asked = openDelivery({}, { store, clock: ahead });
    await store.notifications.replay({ receiver: "oncall" }, asked.notifier.freshTimes);
    await pass(0);
    expect(since()).toEqual(["firing a"]);
  });

  it.each([
    ["the resolve first", [[2], [1]]],
    ["the firing first", [[1], [2]]],
    ["both at once", [[2, 1]]],
  ])("keeps the order of what happened to one server: %s", async (_, replays) => {
    const items = [fire("a"), resolve("a")];
    const { delivery, server, store, notifier, pass, since } = await deadLettered(items);
    server.answerWith(status(503));
    for (const seqs of replays) {
      if (seqs.includes(1)) await replay(delivery, { seqs });
      else await store.notifications.replay({ seqs }, notifier.freshTimes);
    }
    await pass(0);
    expect(since()).toEqual(["firing a"]);
    server.answerWith(status(204));
    await pass(10 * minuteMs);
    expect(since()).toEqual(["firing a", "firing a", "resolved a"]);
  });
});
