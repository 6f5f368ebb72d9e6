import { describe, expect, it } from "vitest";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import type { Incident } from "../../../src/alerts/incident.ts";
import { addTarget } from "../../support/add-target.ts";
import { insertOutboxItems } from "../../../src/store/outbox.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { firing, resolved } from "../../notify/support/notified-store.ts";
import { research } from "../../support/fleet.ts";
import { settle } from "../../notify/support/test-store.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import type { OutboxStore } from "../support/outbox-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const dayMs = 86_400_000;
  const bounds = { deliveredBeforeMs: startMs, deadBeforeMs: startMs - 60 * dayMs };

  const nothing = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };

  /** Stores a notification of these items, and ends it if a state is given. */
  async function keep(
    { kysely, outbox }: OutboxStore,
    id: string,
    ended: { readonly state: "delivered" | "dead"; readonly settledAtMs: number } | null = null,
    items: readonly OutboxItem[] = [outboxItem()],
  ): Promise<number> {
    await insertOutboxItems(kysely, items);
    const receiver = items[0]?.receiver ?? "oncall";
    const open = await outbox.openItems(receiver, 10_000);
    await outbox.compose([
      {
        notification: {
          id,
          receiver,
          type: "incident.firing",
          rule: "server-error",
          severity: "critical",
          group: {},
          summary: `about ${id}`,
          runbookUrl: null,
          createdAtMs: startMs,
          causedAtMs: startMs - 1,
          incidents: items.map(({ incident }) => incident),
          truncated: 0,
        },
        itemSeqs: open.map(({ seq }) => seq),
        groupNames: [],
        nextAttemptAtMs: startMs,
        giveUpAtMs: startMs + dayMs,
      },
    ]);
    const { seq } = await kysely
      .selectFrom("notifications")
      .select("seq")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    if (ended) await settle(outbox, seq, ended);
    return seq;
  }

  async function ids({ notifications }: OutboxStore): Promise<readonly string[]> {
    return (await notifications.list({ limit: 99 })).map(({ id }) => id);
  }

  async function countOf(
    { kysely }: OutboxStore,
    table: "outbox_items" | "delivery_attempts",
  ): Promise<number> {
    return (await kysely.selectFrom(table).selectAll().execute()).length;
  }

  describe("the list of notifications", () => {
    it("says of each what it told, to whom, and what became of it, newest first", async () => {
      const store = await openOutboxStore(engine);
      await keep(store, "one", { state: "dead", settledAtMs: startMs + 5 });
      await keep(store, "two");
      expect(await store.notifications.list({ limit: 9 })).toEqual([
        expect.objectContaining({ id: "two", state: "pending", attempts: 0, settledAtMs: null }),
        {
          seq: 1,
          id: "one",
          receiver: "oncall",
          state: "dead",
          type: "incident.firing",
          rule: "server-error",
          severity: "critical",
          summary: "about one",
          createdAtMs: startMs,
          causedAtMs: startMs - 1,
          attempts: 1,
          lastReason: "rejected",
          settledAtMs: startMs + 5,
        },
      ]);
    });

    it("is of the states and the receiver asked for, page by page", async () => {
      const store = await openOutboxStore(engine);
      for (const id of ["a", "b", "c"]) await keep(store, id, { state: "dead", settledAtMs: 1 });
      await keep(store, "d", { state: "delivered", settledAtMs: 1 });
      await keep(store, "e", null, [outboxItem({ receiver: "other" })]);
      const list = async (
        query: Partial<Parameters<typeof store.notifications.list>[0]>,
      ): Promise<readonly string[]> =>
        (await store.notifications.list({ limit: 2, ...query })).map(({ id }) => id);
      expect(await list({ states: ["dead"] })).toEqual(["c", "b"]);
      expect(await list({ states: ["dead"], before: 2 })).toEqual(["a"]);
      expect(await list({ states: ["dead", "delivered"] })).toEqual(["d", "c"]);
      expect(await list({ receiver: "other" })).toEqual(["e"]);
      expect(await list({ states: [] })).toEqual([]);
      expect(await store.notifications.find(99)).toBeNull();
    });
  });

  describe("pruning", () => {
    it("removes what was delivered before a moment, with its items and attempts", async () => {
      const store = await openOutboxStore(engine);
      await keep(store, "old", { state: "delivered", settledAtMs: startMs - 1 });
      await keep(store, "recent", { state: "delivered", settledAtMs: startMs });
      expect(await store.store.prune.notifications(bounds)).toBe(true);
      expect(await ids(store)).toEqual(["recent"]);
      expect(await countOf(store, "outbox_items")).toBe(1);
      expect(await countOf(store, "delivery_attempts")).toBe(1);
      expect(await store.store.prune.notifications(bounds)).toBe(false);
    });

    it("keeps what is dead for longer, and what is pending for ever", async () => {
      const store = await openOutboxStore(engine);
      await keep(store, "pending");
      await keep(store, "dead", { state: "dead", settledAtMs: bounds.deadBeforeMs });
      await keep(store, "long dead", { state: "dead", settledAtMs: bounds.deadBeforeMs - 1 });
      const discarded = await keep(store, "discarded", { state: "dead", settledAtMs: startMs - 2 });
      await store.notifications.discard({ seqs: [discarded] }, startMs - 1);
      await store.store.prune.notifications(bounds);
      expect((await ids(store)).toSorted()).toEqual(["dead", "pending"]);
    });

    it.each(["delivered", "dead", "discarded"] as const)(
      "spares the last notification of an incident that still fires until it is over (%s)",
      async (state) => {
        const store = await openOutboxStore(engine);
        const whole = store.store;
        const { id } = await addTarget(whole, research);
        const write = (incident: Incident): Promise<void> =>
          whole.commitIncidents(id, { ...nothing, written: [incident] });
        const ended = { state: state === "delivered" ? state : "dead", settledAtMs: 0 } as const;
        await write(firing("goes on"));
        for (const name of ["fire", "reminder"]) {
          const seq = await keep(store, name, ended, [outboxItem({ incident: { id: "goes on" } })]);
          if (state === "discarded") await store.notifications.discard({ seqs: [seq] }, 0);
        }
        expect(await store.states()).toEqual([state, state]);
        await store.store.prune.notifications(bounds);
        expect(await ids(store)).toEqual(["reminder"]);
        expect(await store.store.prune.notifications(bounds)).toBe(false);

        await write(resolved("goes on", startMs));
        await store.store.prune.notifications(bounds);
        expect(await ids(store)).toEqual([]);
      },
    );

    it("takes small steps, also where one notification tells very much", async () => {
      const store = await openOutboxStore(engine);
      const items = Array.from({ length: 1_200 }, (_, n) =>
        outboxItem({ incident: { id: `i${n}` } }),
      );
      await keep(store, "storm", { state: "delivered", settledAtMs: 0 }, items);
      for (let n = 0; n < 60; n++) {
        await keep(store, `m${n}`, { state: "delivered", settledAtMs: 1 });
      }
      const left: number[] = [];
      let steps = 0;
      for (; await store.store.prune.notifications(bounds); steps++) {
        left.push(await countOf(store, "outbox_items"));
      }
      expect(left.slice(0, 2)).toEqual([760, 260]);
      expect(steps).toBeLessThan(6);
      expect(await ids(store)).toEqual([]);
      expect(await countOf(store, "outbox_items")).toBe(0);
    });

    it("lets what waits for its turn about the same server go on", async () => {
      const store = await openOutboxStore(engine);
      await keep(store, "old", { state: "delivered", settledAtMs: 0 });
      await keep(store, "waits");
      await keep(store, "waits too");
      await store.store.prune.notifications(bounds);
      const due = await store.outbox.due("oncall", startMs, 9, []);
      expect(due.map(({ notification }) => notification?.id)).toEqual(["waits"]);
    });
  });
});
