import { describe, expect, it } from "vitest";
import type { Notification, OutboxItem } from "../../../src/alerts/notification.ts";
import { insertOutboxItems } from "../../../src/store/outbox.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { settle } from "../../notify/support/test-store.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import type { OutboxStore } from "../support/outbox-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const dayMs = 86_400_000;
  const timedOut = { atMs: startMs, failure: { reason: "timeout", detail: "no answer" } };

  function notificationOf(id: string, items: readonly OutboxItem[]): Notification {
    return {
      id,
      receiver: items[0]?.receiver ?? "oncall",
      type: items[0]?.type ?? "incident.firing",
      rule: "server-error",
      severity: "critical",
      group: {},
      summary: id,
      runbookUrl: null,
      createdAtMs: startMs,
      causedAtMs: items[0]?.causedAtMs ?? startMs,
      incidents: items.map((item) => item.incident),
      truncated: 0,
    };
  }

  /** Writes items and makes one notification of them. */
  async function tell(
    { kysely, outbox }: OutboxStore,
    id: string,
    incidents: readonly string[],
    { receiver = "oncall", dueMs = startMs, groupNames = [] as readonly string[] } = {},
  ): Promise<void> {
    // "a" and "a again" are two incidents of one server.
    const items = incidents.map((incident) =>
      outboxItem({
        receiver,
        incident: { id: incident, serverId: incident.replace(" again", "") },
      }),
    );
    await insertOutboxItems(kysely, items);
    const open = await outbox.openItems(receiver, 1_000);
    await outbox.compose([
      {
        notification: notificationOf(id, items),
        itemSeqs: open.map(({ seq }) => seq),
        groupNames,
        nextAttemptAtMs: dueMs,
        giveUpAtMs: startMs + dayMs,
      },
    ]);
  }

  async function dueIds(
    { outbox }: OutboxStore,
    { receiver = "oncall", nowMs = startMs, limit = 100, inFlight = [] as readonly number[] } = {},
  ): Promise<readonly string[]> {
    const due = await outbox.due(receiver, nowMs, limit, inFlight);
    return due.map(({ notification }) => notification?.id ?? "unreadable");
  }

  async function seqOf({ kysely }: OutboxStore, id: string): Promise<number> {
    const { seq } = await kysely
      .selectFrom("notifications")
      .select("seq")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return seq;
  }

  describe("composing", () => {
    it("leaves no item open that a notification tells", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "msg_1", ["a", "b"]);
      expect(await store.outbox.openItems("oncall", 10)).toEqual([]);
      expect(await dueIds(store)).toEqual(["msg_1"]);
    });

    it("stores all notifications of a flush or none", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "msg_1", ["a"]);
      await insertOutboxItems(store.kysely, [outboxItem(), outboxItem()]);
      const rest = { groupNames: [], nextAttemptAtMs: startMs, giveUpAtMs: startMs + dayMs };
      const composing = store.outbox.compose([
        { notification: notificationOf("msg_2", [outboxItem()]), itemSeqs: [2], ...rest },
        { notification: notificationOf("msg_1", [outboxItem()]), itemSeqs: [3], ...rest },
      ]);
      await expect(composing).rejects.toThrow(
        /UNIQUE constraint failed: notifications.id|duplicate key/,
      );
      expect(await dueIds(store)).toEqual(["msg_1"]);
      expect(await store.outbox.openItems("oncall", 10)).toHaveLength(2);
    });
  });

  describe("what is due", () => {
    it("is what has come to its time, longest due first, and not in flight", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "later", ["a"], { dueMs: startMs + 2 });
      await tell(store, "sooner", ["b"], { dueMs: startMs + 1 });
      await tell(store, "not yet", ["c"], { dueMs: startMs + 9 });
      await tell(store, "elsewhere", ["d"], { receiver: "other" });
      expect(await dueIds(store, { nowMs: startMs + 5 })).toEqual(["sooner", "later"]);
      expect(await dueIds(store, { nowMs: startMs + 5, limit: 1 })).toEqual(["sooner"]);
      const inFlight = [await seqOf(store, "sooner")];
      expect(await dueIds(store, { nowMs: startMs + 5, inFlight })).toEqual(["later"]);
      expect(await store.outbox.nextAttemptAtMs("oncall", [])).toBe(startMs + 1);
      expect(await store.outbox.nextAttemptAtMs("oncall", inFlight)).toBe(startMs + 2);
      expect(await store.outbox.nextAttemptAtMs("nobody", [])).toBeNull();
    });

    it.each(["delivered", "dead"] as const)(
      "holds a notification back until the one before it about the same incident is %s",
      async (state) => {
        const store = await openOutboxStore(engine);
        await tell(store, "fire", ["a", "b"], { dueMs: startMs + 1_000 });
        await tell(store, "resolve a", ["a"]);
        await tell(store, "resolve b", ["b"]);
        await tell(store, "fire c", ["c"]);
        expect(await dueIds(store)).toEqual(["fire c"]);
        await settle(store.outbox, await seqOf(store, "fire"), { state, settledAtMs: startMs });
        expect(await dueIds(store)).toEqual(["resolve a", "resolve b", "fire c"]);
      },
    );

    it("holds back that a server fires again until it was told that it had recovered", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "resolve a", ["a"], { dueMs: startMs + 1_000 });
      await tell(store, "fire a again", ["a again"]);
      await tell(store, "fire b", ["b"]);
      expect(await dueIds(store)).toEqual(["fire b"]);
      await settle(store.outbox, await seqOf(store, "resolve a"), {
        state: "delivered",
        settledAtMs: startMs,
      });
      expect(await dueIds(store)).toEqual(["fire a again", "fire b"]);
    });

    it("holds a notification back for every one before it, in whatever order they end", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "fire a", ["a"]);
      await tell(store, "fire b", ["b"]);
      await tell(store, "resolve both", ["a", "b"]);
      await settle(store.outbox, await seqOf(store, "fire b"), {
        state: "delivered",
        settledAtMs: startMs,
      });
      expect(await dueIds(store)).toEqual(["fire a"]);
      await settle(store.outbox, await seqOf(store, "fire a"), {
        state: "delivered",
        settledAtMs: startMs,
      });
      expect(await dueIds(store)).toEqual(["resolve both"]);
    });

    it("does not wait for another receiver's notification about the same incident", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "to other", ["a"], { receiver: "other" });
      await tell(store, "to oncall", ["a"]);
      expect(await dueIds(store)).toEqual(["to oncall"]);
    });
  });

  describe("the end of a notification", () => {
    it("is kept with what it means for the receiver, or not at all", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "msg_1", ["a"]);
      const attempt = { atMs: startMs, failure: null };
      const ending = store.outbox.settle(
        await seqOf(store, "msg_1"),
        { state: "delivered", settledAtMs: startMs },
        attempt,
        () => {
          throw new Error("it cannot be judged");
        },
      );
      await expect(ending).rejects.toThrow("it cannot be judged");
      expect(await store.states()).toEqual(["pending"]);
      expect(await store.store.notifications.attempts([1])).toEqual([]);
    });

    it("comes once: a second one changes nothing", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "msg_1", ["a"]);
      const seq = await seqOf(store, "msg_1");
      await settle(store.outbox, seq, { state: "dead", settledAtMs: startMs });
      expect(
        await settle(store.outbox, seq, { state: "delivered", settledAtMs: startMs }),
      ).toBeNull();
      expect(await store.states()).toEqual(["dead"]);
      expect(await store.store.notifications.attempts([seq])).toHaveLength(1);
    });
  });

  describe("retries", () => {
    it("count attempts and move the next one", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "msg_1", ["a"]);
      const seq = await seqOf(store, "msg_1");
      await store.outbox.retryLater(seq, startMs + 500, timedOut);
      expect(await dueIds(store)).toEqual([]);
      const [again] = await store.outbox.due("oncall", startMs + 500, 1, []);
      expect(again?.attempts).toBe(1);
    });

    it.each(["delivered", "dead"] as const)(
      "leave a notification alone that is %s",
      async (state) => {
        const store = await openOutboxStore(engine);
        await tell(store, "msg_1", ["a"]);
        const seq = await seqOf(store, "msg_1");
        await settle(store.outbox, seq, { state, settledAtMs: startMs });
        const settled = await store.notifications.find(seq);
        const attempts = await store.store.notifications.attempts([seq]);
        await store.outbox.retryLater(seq, startMs + 500, timedOut);
        expect(await store.notifications.find(seq)).toEqual(settled);
        expect(await store.store.notifications.attempts([seq])).toEqual(attempts);
        expect(await dueIds(store, { nowMs: startMs + dayMs })).toEqual([]);
      },
    );

    it("bounds the times that an earlier process stored, for one receiver", async () => {
      const store = await openOutboxStore(engine);
      await tell(store, "far", ["a"], { dueMs: startMs + 9 * dayMs });
      await tell(store, "far elsewhere", ["b"], { dueMs: startMs + 9 * dayMs, receiver: "other" });
      await store.outbox.boundTimes("oncall", {
        nowMs: startMs,
        latestNextAttemptAtMs: startMs + 300,
        earliestGiveUpAtMs: startMs + 2 * dayMs,
        latestGiveUpAtMs: startMs + 3 * dayMs,
      });
      const [far] = await store.outbox.due("oncall", startMs + 300, 1, []);
      expect(far?.giveUpAtMs).toBe(startMs + 2 * dayMs);
      expect(await store.outbox.nextAttemptAtMs("other", [])).toBe(startMs + 9 * dayMs);
    });
  });

  describe("figures", () => {
    it("say for each receiver what is open, pending, dead, and the oldest cause untold", async () => {
      const store = await openOutboxStore(engine);
      const { kysely, outbox } = store;
      await tell(store, "one", ["a"]);
      await tell(store, "two", ["b"]);
      await tell(store, "three", ["c"], { receiver: "other" });
      await settle(outbox, await seqOf(store, "one"), {
        state: "dead",
        settledAtMs: startMs,
      });
      await settle(outbox, await seqOf(store, "three"), {
        state: "delivered",
        settledAtMs: startMs,
      });
      await insertOutboxItems(kysely, [outboxItem({ causedAtMs: startMs - 1 })]);
      await insertOutboxItems(kysely, [outboxItem({ receiver: "not configured" })]);
      const common = { openItems: 1, pending: 0, dead: 0 };
      expect(await outbox.figures()).toEqual([
        { ...common, receiver: "not configured", oldestCausedAtMs: startMs },
        { receiver: "oncall", openItems: 1, pending: 1, dead: 1, oldestCausedAtMs: startMs - 1 },
      ]);
    });
  });
});
