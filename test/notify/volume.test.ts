import { sql } from "kysely";
import { expect, it } from "vitest";
import { composeDue } from "../../src/notify/compose.ts";
import type { Receiver, SendResult } from "../../src/notify/receiver.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { oneByOne, openDelivery } from "./support/delivery.ts";
import { outboxItem, startMs } from "./support/items.ts";
import { openTestStore } from "./support/test-store.ts";

const dayMs = 86_400_000;

it("composes what comes after very many items that wait for their group's interval", async () => {
  const { kysely, outbox, notifications } = openTestStore();
  await sql`pragma synchronous = off`.execute(kysely);
  const settings = { ...oneByOne, groupIntervalMs: dayMs };
  const insert = (sandboxId: string, from: number, count: number): Promise<void> =>
    kysely.transaction().execute((trx) =>
      insertOutboxItems(
        trx,
        Array.from({ length: count }, (_, n) =>
          outboxItem({ incident: { id: `${sandboxId} ${from + n}`, sandboxId } }),
        ),
      ),
    );
  const compose = (nowMs: number): Promise<number | null> => {
    const nothing = () => Promise.resolve();
    return composeDue("oncall", settings, {
      outbox,
      clock: createFakeClock(nowMs),
      deliveryClock: () => nowMs,
      onStored: nothing,
      onUnreadable: nothing,
    });
  };

  await insert("large", 0, 1);
  await compose(startMs);
  await insert("large", 1, 9_999);
  expect(await compose(startMs + 1)).toBe(startMs + dayMs);
  await insert("large", 10_000, 1);
  await insert("other", 0, 1);
  expect(await compose(startMs + 2)).toBeNull();
  const composed = await notifications.list({ limit: 9 });
  expect(composed.map(({ summary }) => summary)).toEqual([
    "1 server in error in us (research): github",
    "10000 servers in error in us (research)",
    "1 server in error in us (research): github",
  ]);
});

/** Accepts everything at once, or nothing ever. */
function countingReceiver(name: string) {
  const ids = new Set<string>();
  let open = 0;
  let mostOpen = 0;
  const receiver: Receiver = {
    name,
    async send({ id }, signal): Promise<SendResult> {
      ids.add(id);
      mostOpen = Math.max(mostOpen, ++open);
      if (name === "stuck") {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
      open--;
      return name === "stuck" ? { kind: "aborted" } : { kind: "delivered" };
    },
  };
  return { ...oneByOne, receiver, ids, mostOpen: () => mostOpen };
}

it(
  "drains four receivers of hundreds of notifications each while a fifth hangs",
  { timeout: 90_000 },
  async () => {
    const each = 250;
    const names = ["four", "one", "stuck", "three", "two"];
    const receivers = names.map(countingReceiver);
    const drained = Promise.withResolvers<void>();
    let mostRead = 0;
    let delivered = 0;
    const { notifier, clock, store } = openDelivery(() => receivers, {
      outbox: (outbox) => ({
        async due(...query) {
          const due = await outbox.due(...query);
          mostRead = Math.max(mostRead, due.length);
          return due;
        },
        async settle(...settled) {
          const judged = await outbox.settle(...settled);
          if (++delivered === 4 * each) drained.resolve();
          return judged;
        },
      }),
    });
    await store.kysely.transaction().execute(async (trx) => {
      for (const receiver of names) {
        const items = Array.from({ length: each }, (_, n) =>
          outboxItem({ receiver, incident: { id: `i${n}`, sandboxId: `s${n}` } }),
        );
        await insertOutboxItems(trx, items);
      }
    });
    notifier.start();
    await drained.promise;
    const stopped = notifier.stop({ graceMs: 5_000 });
    clock.advance(5_000);
    await stopped;

    expect(receivers.map(({ ids }) => ids.size)).toEqual([each, each, 4, each, each]);
    expect(Math.max(...receivers.map(({ mostOpen }) => mostOpen()))).toBe(4);
    // However many wait, only what is about to be sent is in memory.
    expect(mostRead).toBe(4);
    const figures = await store.outbox.figures();
    expect(figures.map(({ receiver, pending }) => [receiver, pending])).toEqual([["stuck", each]]);
  },
);
