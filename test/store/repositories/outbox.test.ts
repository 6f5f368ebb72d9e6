import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../../src/store/outbox-items.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { firing, openNotifiedStore, resolved } from "../../notify/support/notified-store.ts";
import { notificationOf } from "../../notify/support/notifications.ts";
import { engines } from "../support/engines.ts";
import { dayMs, itemsAbout, openOutboxStore, type OutboxStore } from "../support/outbox-store.ts";

describe.each(engines)("the outbox on $name", (engine) => {
  async function dueIds(
    { outbox }: OutboxStore,
    { nowMs = startMs, limit = 100, inFlight = [] as readonly number[] } = {},
  ): Promise<readonly string[]> {
    const ready = await outbox.ready("oncall", limit, inFlight);
    const due = ready.filter(({ nextAttemptAtMs }) => nextAttemptAtMs <= nowMs);
    return due.map(({ notification }) => notification?.id ?? "unreadable");
  }

  describe("items", () => {
    it("come back as they were written, oldest first, for their receiver alone", async () => {
      const { kysely, outbox } = await openOutboxStore(engine);
      const ofNoServer = { sandboxId: null, serverId: null, serverName: null, status: null };
      const of = (incident: object) => outboxItem({ incident: { ...ofNoServer, ...incident } });
      const items = [
        outboxItem({ type: "incident.resolved" }),
        outboxItem({ incident: { flapping: true, acknowledgedBy: "kim" } }),
        of({ subject: "target" }),
        of({ subject: "pool", region: null, key: null }),
        of({ subject: "probe", probe: "login" }),
        of({ subject: "receiver", receiver: "mail" }),
        outboxItem({ summaryTemplate: "{rule}", runbookUrlTemplate: "https://a" }),
        ...itemsAbout(Array.from({ length: 450 }, (_, n) => `i${n}`)),
      ];
      await insertOutboxItems(kysely, [...items, outboxItem({ receiver: "other" })]);
      const open = await outbox.openItems("oncall", 1_000);
      expect(open).toEqual(items.map((item, index) => ({ ...item, seq: index + 1 })));
      for (const limit of [3, 200, 300]) {
        expect(await outbox.openItems("oncall", limit)).toEqual(open.slice(0, limit));
      }
    });
  });

  it("knows who was not notified of an open incident yet, and whether attempts failed", async () => {
    const { store, commit, outbox } = await openNotifiedStore({}, engine);
    const to = (receiver: string) => ({ receivers: [receiver] });
    await commit(
      firing("a", to("dead")),
      firing("b", to("taken")),
      resolved("c", startMs, to("dead")),
    );
    for (const [receiver, state] of [
      ["dead", "dead"],
      ["taken", "delivered"],
    ] as const) {
      await outbox.settle(await outbox.notify(receiver, itemsAbout(["x"], receiver)), state);
    }
    await commit(firing("b", to("taken")), firing("d", to("waiting")));
    expect(await store.outbox.undelivered()).toEqual([
      { receiver: "dead", incidentId: "a", failing: 1 },
      { receiver: "waiting", incidentId: "d", failing: 0 },
    ]);
  });

  it("counts what a receiver was notified of and still fires, by the fields of its groups", async () => {
    const { store, commit } = await openNotifiedStore({}, engine);
    const named = (serverName: string | null) => ({
      subject: { kind: "server", sandboxId: "box", serverId: "s", serverName } as const,
    });
    await commit(
      firing("a", named("github")),
      firing("b", named("git")),
      firing("c", named(null)),
      firing("d", { ...named("github"), receivers: ["other"] }),
      firing("e", { ...named("github"), rule: "other" }),
      resolved("f", startMs, named("github")),
    );
    const count = (group: Readonly<Record<string, string>>, most = 10) =>
      store.outbox.countFiring("am", "server-error", group, most);
    const place = { region: "us", key: "research" };
    expect([
      await count({}),
      await count(place),
      await count({ ...place, server_name: "github", sandbox_id: "box" }),
      await count({ server_name: "" }),
      await count({ region: "eu" }),
      await count({ probe: "", incident: "b" }),
      await count(place, 2),
    ]).toEqual([3, 3, 1, 1, 0, 1, 2]);
  });

  describe("composing", () => {
    it("stores all notifications or none", async () => {
      const store = await openOutboxStore(engine);
      await store.notify("msg_1", itemsAbout(["a", "b"]));
      expect(await store.outbox.openItems("oncall", 10)).toEqual([]);
      await insertOutboxItems(store.kysely, itemsAbout(["c", "d"]));
      const times = { groupNames: [], nextAttemptAtMs: startMs, giveUpAtMs: startMs + dayMs };
      const composing = store.outbox.compose([
        { notification: notificationOf({ id: "msg_2" }), itemSeqs: [3], ...times },
        { notification: notificationOf({ id: "msg_1" }), itemSeqs: [4], ...times },
      ]);
      await expect(composing).rejects.toThrow(
        /UNIQUE constraint failed: notifications.id|duplicate key/,
      );
      expect(await dueIds(store)).toEqual(["msg_1"]);
      expect(await store.outbox.openItems("oncall", 10)).toHaveLength(2);
    });

    it("puts no item into two notifications", async () => {
      const store = await openOutboxStore(engine);
      await store.notify("msg_1", itemsAbout(["a"]));
      await insertOutboxItems(store.kysely, itemsAbout(["b"]));
      const times = { groupNames: [], nextAttemptAtMs: startMs, giveUpAtMs: startMs + dayMs };
      const composing = store.outbox.compose([
        { notification: notificationOf({ id: "msg_2" }), itemSeqs: [1, 2], ...times },
      ]);
      await expect(composing).rejects.toThrow("msg_2 are in another one");
      expect(await dueIds(store)).toEqual(["msg_1"]);
      expect(await store.outbox.openItems("oncall", 10)).toHaveLength(1);
    });

    it("notes when each group was last notified, for a day", async () => {
      const { notify, outbox } = await openOutboxStore(engine);
      const times = async (receiver: string, sinceMs = 0) =>
        Object.fromEntries(await outbox.groupTimes(receiver, sinceMs));
      await notify("1", undefined, { groupNames: ["first", "both"] });
      await notify("2", undefined, { groupNames: ["both"], createdAtMs: startMs + 5 });
      await notify("3", itemsAbout(["a"], "other"), { groupNames: ["both"] });
      expect(await times("oncall")).toEqual({ first: startMs, both: startMs + 5 });
      expect(await times("oncall", startMs + 5)).toEqual({ both: startMs + 5 });
      await notify("4", undefined, { groupNames: ["later"], createdAtMs: startMs + 5 + dayMs });
      expect(Object.keys(await times("oncall")).toSorted()).toEqual(["both", "later"]);
      expect(await times("other")).toEqual({ both: startMs });
    });
  });

  describe("what is due", () => {
    it("is what has come to its time, longest due first, and not in flight", async () => {
      const store = await openOutboxStore(engine);
      await store.notify("later", itemsAbout(["a"]), { dueMs: startMs + 2 });
      const sooner = await store.notify("sooner", itemsAbout(["b"]), { dueMs: startMs + 1 });
      await store.notify("not yet", itemsAbout(["c"]), { dueMs: startMs + 9 });
      await store.notify("elsewhere", itemsAbout(["d"], "other"));
      const nowMs = startMs + 5;
      expect(await dueIds(store, { nowMs })).toEqual(["sooner", "later"]);
      expect(await dueIds(store, { nowMs, limit: 1 })).toEqual(["sooner"]);
      expect(await dueIds(store, { nowMs, inFlight: [sooner] })).toEqual(["later"]);
      const times = async (receiver: string, inFlight: readonly number[]) =>
        (await store.outbox.ready(receiver, 9, inFlight)).map((each) => each.nextAttemptAtMs);
      expect(await times("oncall", [])).toEqual([startMs + 1, startMs + 2, startMs + 9]);
      expect(await times("oncall", [sooner])).toEqual([startMs + 2, startMs + 9]);
      expect(await times("nobody", [])).toEqual([]);
    });

    it.each(["delivered", "dead"] as const)(
      "waits for every earlier one about the same subject to be %s, in any order",
      async (state) => {
        const store = await openOutboxStore(engine);
        const ab = await store.notify("fire a, b", itemsAbout(["a", "b"]), { dueMs: startMs + 9 });
        const c = await store.notify("fire c", itemsAbout(["c"]), { dueMs: startMs + 9 });
        await store.notify("a to another", itemsAbout(["a"], "other"));
        await store.notify("resolve a", itemsAbout(["a"]));
        await store.notify("fire a again", itemsAbout(["a again"]));
        await store.notify("resolve b, c", itemsAbout(["b", "c"]));
        await store.notify("fire d", itemsAbout(["d"]));
        expect(await dueIds(store)).toEqual(["fire d"]);
        await store.settle(c, state);
        expect(await dueIds(store)).toEqual(["fire d"]);
        await store.settle(ab, state);
        expect(await dueIds(store)).toEqual(["resolve a", "resolve b, c", "fire d"]);
      },
    );
  });

  describe("an attempt that ended", () => {
    it("is stored with what it means for the receiver, or not at all", async () => {
      const store = await openOutboxStore(engine);
      const seq = await store.notify("msg_1");
      const settlement = { state: "delivered", settledAtMs: startMs } as const;
      const attempt = { atMs: startMs, failure: null };
      const ending = store.outbox.settle(seq, settlement, attempt, () => {
        throw new Error("it cannot be judged");
      });
      await expect(ending).rejects.toThrow("it cannot be judged");
      expect(await store.states()).toEqual(["pending"]);
      expect(await store.notifications.attempts([seq])).toEqual([]);
    });

    it.each(["delivered", "dead"] as const)("is the last one where it is %s", async (state) => {
      const store = await openOutboxStore(engine);
      const seq = await store.notify("msg_1");
      await store.settle(seq, state);
      const settled = await store.notifications.find(seq);
      expect(await store.settle(seq, "delivered")).toBeNull();
      await store.outbox.retryLater(seq, startMs, { atMs: startMs, failure: null });
      expect(await store.notifications.find(seq)).toEqual(settled);
      expect(await store.notifications.attempts([seq])).toHaveLength(1);
      expect(await dueIds(store, { nowMs: startMs + dayMs })).toEqual([]);
    });
  });

  it("bounds the times that an earlier process stored, for one receiver", async () => {
    const store = await openOutboxStore(engine);
    const dueMs = startMs + 9 * dayMs;
    await store.notify("far", itemsAbout(["a"]), { dueMs });
    await store.notify("far elsewhere", itemsAbout(["b"], "other"), { dueMs });
    await store.outbox.boundTimes("oncall", {
      nowMs: startMs,
      latestNextAttemptAtMs: startMs + 300,
      earliestGiveUpAtMs: startMs + 2 * dayMs,
      latestGiveUpAtMs: startMs + 3 * dayMs,
    });
    const bounded = { nextAttemptAtMs: startMs + 300, giveUpAtMs: startMs + 2 * dayMs };
    expect(await store.outbox.ready("oncall", 1, [])).toMatchObject([bounded]);
    expect(await store.outbox.ready("other", 1, [])).toMatchObject([{ nextAttemptAtMs: dueMs }]);
  });

  it("has figures of each receiver: what is open, pending and dead, and since when", async () => {
    const { kysely, outbox, notify, settle } = await openOutboxStore(engine);
    await settle(await notify("one", itemsAbout(["a"])), "dead");
    await notify("two", itemsAbout(["b"]), { createdAtMs: startMs + 5 });
    await settle(await notify("three", itemsAbout(["c"], "other")), "delivered");
    await insertOutboxItems(kysely, [
      outboxItem({ causedAtMs: startMs - 1 }),
      outboxItem({ receiver: "not configured" }),
    ]);
    const none = { openItems: 1, pending: 0, dead: 0, oldestCausedAtMs: startMs };
    expect(await outbox.figures()).toEqual([
      { ...none, receiver: "not configured" },
      { receiver: "oncall", openItems: 1, pending: 1, dead: 1, oldestCausedAtMs: startMs - 1 },
    ]);
    expect(await outbox.waiting()).toEqual([
      { receiver: "not configured", oldestPendingMs: null, oldestItemMs: startMs },
      { receiver: "oncall", oldestPendingMs: startMs + 5, oldestItemMs: startMs - 1 },
    ]);
  });
});
