import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../../src/store/outbox-items.ts";
import { addTarget } from "../../support/add-target.ts";
import { research } from "../../support/fleet.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { firing, resolved } from "../../notify/support/notified-store.ts";
import { engines } from "../support/engines.ts";
import {
  dayMs,
  itemsAbout,
  noOutcome,
  openOutboxStore,
  type OutboxStore,
} from "../support/outbox-store.ts";

describe.each(engines)("notifications on $name", (engine) => {
  const bounds = { deliveredBeforeMs: startMs, deadBeforeMs: startMs - 60 * dayMs };

  async function ids({ notifications }: OutboxStore, query = {}): Promise<readonly string[]> {
    return (await notifications.list({ limit: 99, ...query })).map(({ id }) => id);
  }

  async function countOf({ kysely }: OutboxStore, table: "outbox_items" | "delivery_attempts") {
    return (await kysely.selectFrom(table).selectAll().execute()).length;
  }

  it("are listed newest first, with what they say, to whom, and what became of them", async () => {
    const store = await openOutboxStore(engine);
    await store.settle(await store.notify("one"), "dead", startMs + 5);
    await store.notify("two");
    const [two, one] = await store.notifications.list({ limit: 9 });
    expect(two).toMatchObject({ id: "two", state: "pending", attempts: 0, settledAtMs: null });
    const what = { type: "incident.firing", rule: "server-error", severity: "critical" };
    const when = { createdAtMs: startMs, causedAtMs: startMs, settledAtMs: startMs + 5 };
    const outcome = { receiver: "oncall", state: "dead", attempts: 1, lastReason: "rejected" };
    expect(one).toEqual({ seq: 1, id: "one", summary: "about one", ...what, ...when, ...outcome });
  });

  it("are listed by state and receiver, page by page", async () => {
    const store = await openOutboxStore(engine);
    for (const id of ["a", "b", "c"]) await store.settle(await store.notify(id), "dead");
    await store.settle(await store.notify("d"), "delivered");
    await store.notify("e", itemsAbout(["a"], "other"));
    expect(await ids(store, { states: ["dead"], limit: 2 })).toEqual(["c", "b"]);
    expect(await ids(store, { states: ["dead"], before: 2 })).toEqual(["a"]);
    expect(await ids(store, { states: ["dead", "delivered"], limit: 2 })).toEqual(["d", "c"]);
    expect(await ids(store, { receiver: "other" })).toEqual(["e"]);
    expect(await ids(store, { states: [] })).toEqual([]);
    expect(await store.notifications.find(99)).toBeNull();
  });

  describe("are pruned", () => {
    it("after each one's time, with their items and attempts; pending ones never", async () => {
      const store = await openOutboxStore(engine);
      const { prune } = store.store;
      await store.settle(await store.notify("old"), "delivered", startMs - 1);
      await store.settle(await store.notify("recent"), "delivered", startMs);
      await store.notify("pending");
      await store.settle(await store.notify("dead"), "dead", bounds.deadBeforeMs);
      await store.settle(await store.notify("long dead"), "dead", bounds.deadBeforeMs - 1);
      const discarded = await store.notify("discarded");
      await store.settle(discarded, "dead", startMs - 2);
      await store.notifications.discard({ seqs: [discarded] }, startMs - 1);
      while (await prune.notifications(bounds));
      expect((await ids(store)).toSorted()).toEqual(["dead", "pending", "recent"]);
      expect(await countOf(store, "outbox_items")).toBe(3);
      expect(await countOf(store, "delivery_attempts")).toBe(2);
    });

    it.each(["delivered", "dead", "discarded"] as const)(
      "but for the last one of an incident that still fires (%s)",
      async (state) => {
        const store = await openOutboxStore(engine);
        const { prune, commitIncidents } = store.store;
        const { id } = await addTarget(store.store, research);
        await commitIncidents(id, { ...noOutcome, written: [firing("goes on")] });
        for (const name of ["fire", "reminder"]) {
          const seq = await store.notify(name, itemsAbout(["goes on"]));
          await store.settle(seq, state === "delivered" ? state : "dead", 0);
          if (state === "discarded") await store.notifications.discard({ seqs: [seq] }, 0);
        }
        while (await prune.notifications(bounds));
        expect(await ids(store)).toEqual(["reminder"]);
        await commitIncidents(id, { ...noOutcome, written: [resolved("goes on", startMs)] });
        while (await prune.notifications(bounds));
        expect(await ids(store)).toEqual([]);
      },
    );

    it("in small steps, also where one notification has very many items", async () => {
      const store = await openOutboxStore(engine);
      const many = itemsAbout(Array.from({ length: 1_200 }, (_, n) => `i${n}`));
      await store.settle(await store.notify("storm", many), "delivered", 0);
      for (let n = 0; n < 60; n++) await store.settle(await store.notify(`m${n}`), "delivered", 1);
      const left: number[] = [];
      while (await store.store.prune.notifications(bounds)) {
        left.push(await countOf(store, "outbox_items"));
      }
      expect(left.slice(0, 2)).toEqual([760, 260]);
      expect(left.length).toBeLessThan(6);
      expect(await ids(store)).toEqual([]);
    });

    it("as items are that wait for receivers which are not configured", async () => {
      const { kysely, outbox, store } = await openOutboxStore(engine);
      const item = (receiver: string, causedAtMs: number) => outboxItem({ receiver, causedAtMs });
      await insertOutboxItems(kysely, [item("gone", 1), item("gone", 5), item("oncall", 1)]);
      expect(await store.prune.owedItems(5, ["oncall"])).toBe(false);
      expect(await outbox.openItems("gone", 9)).toMatchObject([{ causedAtMs: 5 }]);
      expect(await outbox.openItems("oncall", 9)).toHaveLength(1);
      await store.prune.owedItems(9, []);
      expect(await outbox.openItems("oncall", 9)).toEqual([]);
    });
  });
});
