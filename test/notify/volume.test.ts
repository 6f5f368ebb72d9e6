import { expect, it } from "vitest";
import type { DeliveryReceiver } from "../../src/notify/pipeline.ts";
import type { Outbox } from "../../src/notify/outbox.ts";
import type { SendResult } from "../../src/notify/receiver.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createDelivery } from "./support/delivery.ts";
import { outboxItem } from "./support/items.ts";
import { openTestStore, type TestStore } from "./support/test-store.ts";

const each = 250;
const names = ["four", "one", "stuck", "three", "two"];

interface CountingReceiver extends DeliveryReceiver {
  readonly ids: Set<string>;
  readonly mostOpen: () => number;
  /** Resolves when it was sent so many. */
  readonly allSent: Promise<void>;
}

/** Takes everything at once, or nothing ever. */
function countingReceiver(name: string): CountingReceiver {
  const ids = new Set<string>();
  const allSent = Promise.withResolvers<void>();
  let open = 0;
  let mostOpen = 0;
  const takes = name !== "stuck";
  return {
    groupBy: ["sandbox_id"],
    groupWaitMs: 0,
    groupIntervalMs: 0,
    mergeAbove: 1_000_000,
    maxIncidents: 10,
    giveUpAfterMs: 86_400_000,
    ids,
    mostOpen: () => mostOpen,
    allSent: allSent.promise,
    receiver: {
      name,
      async send({ id }, signal): Promise<SendResult> {
        ids.add(id);
        mostOpen = Math.max(mostOpen, ++open);
        if (ids.size === (takes ? each : 4)) allSent.resolve();
        await (takes ? Promise.resolve() : aborted(signal));
        open--;
        if (takes) return { kind: "delivered" };
        return { kind: "failed", reason: "network", detail: "", retryAfterMs: null };
      },
      close: () => Promise.resolve(),
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

async function fillOutbox({ kysely }: TestStore): Promise<void> {
  await kysely.transaction().execute(async (transaction) => {
    for (const receiver of names) {
      const items = Array.from({ length: each }, (_, n) =>
        outboxItem({ receiver, incident: { id: `i${n}`, sandboxId: `s${n}` } }),
      );
      await insertOutboxItems(transaction, items);
    }
  });
}

const patienceMs = 90_000;

it(
  "drains four receivers of hundreds of notifications each while a fifth hangs",
  async () => {
    const store = openTestStore();
    await fillOutbox(store);
    const receivers = names.map(countingReceiver);
    let mostRead = 0;
    const outbox: Outbox = {
      ...store.outbox,
      async due(...query) {
        const due = await store.outbox.due(...query);
        mostRead = Math.max(mostRead, due.length);
        return due;
      },
    };
    const { loop, clock } = createDelivery(outbox, () => receivers);
    loop.start();
    await Promise.all(receivers.map(({ allSent }) => allSent));
    const stopped = loop.stop({ graceMs: 5_000 });
    clock.advance(5_000);
    await stopped;

    expect(receivers.map(({ ids }) => ids.size)).toEqual([each, each, 4, each, each]);
    expect(Math.max(...receivers.map(({ mostOpen }) => mostOpen()))).toBe(4);
    // However much waits, only what is about to be sent is in memory.
    expect(mostRead).toBe(4);
    const figures = await store.outbox.figures();
    expect(figures.map(({ receiver, pending }) => [receiver, pending])).toEqual([["stuck", each]]);
  },
  patienceMs,
);
