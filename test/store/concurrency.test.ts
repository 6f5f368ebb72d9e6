import { setImmediate as settle } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Notification } from "../../src/alerts/notification.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { createStore } from "../../src/store/store.ts";
import { judgeBy, listing, research, startMs, watchFleet } from "../support/fleet.ts";
import { sqlite } from "./support/engines.ts";
import { openPollStore } from "./support/poll-store.ts";
import { addTarget } from "../support/add-target.ts";

describe("commits and calls of the outbox at the same time", () => {
  it("do not mix: each is whole, and one that fails takes no other with it", async () => {
    const { store, targetId, rows } = await openPollStore(sqlite);
    const targets = await Promise.all(
      ["a", "b", "c", "d", "e", "f"].map(async (key) => {
        const target = { region: "us", key };
        return {
          id: (await addTarget(store, target)).id,
          ...watchFleet(target, { judge: withIds(key) }),
        };
      }),
    );
    const { poll } = watchFleet(research, { judge: withIds("broken") });
    const broken = poll(listing({ x: "error" }));
    const spoilt = { ...broken, at: { ...broken.at, utcMs: Number.NaN } };
    const calls = await Promise.allSettled([
      ...targets
        .slice(0, 3)
        .map((each) => store.commitPoll(each.id, each.poll(listing({ x: "error" })))),
      store.commitPoll(targetId, spoilt),
      store.outbox.compose([emptyNotification("n-1"), emptyNotification("n-2")]),
      store.outbox.compose([emptyNotification("n-3"), emptyNotification("n-3")]),
      ...targets
        .slice(3)
        .map((each) => store.commitPoll(each.id, each.poll(listing({ x: "error" })))),
      store.outbox.figures(),
      store.check(),
    ]);
    expect(calls.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "fulfilled",
    ]);
    const owners = (await rows("servers")).map((row) => row["target_id"]);
    expect(owners).toHaveLength(targets.length);
    expect(new Set(owners)).toEqual(new Set(targets.map(({ id }) => id)));
    expect((await rows("outbox_items")).length).toBe(6);
    expect((await rows("notifications")).map((row) => row["id"])).toEqual(["n-1", "n-2"]);
  });

  it("see nothing of a transaction that has not ended", async () => {
    const { kysely, close } = openDatabase(":memory:");
    onTestFinished(close);
    const store = createStore(kysely, close);
    let finish: () => void = () => {};
    const finished = new Promise<void>((resolve) => void (finish = resolve));
    const undone = kysely.transaction().execute(async (transaction) => {
      await sql`update sqlite_sequence set seq = 1`.execute(transaction);
      await sql`insert into notifications (id, receiver, state, created_at_ms, caused_at_ms,
        attempts, next_attempt_at_ms, give_up_at_ms, body)
        values ('n-1', 'oncall', 'dead', 0, 0, 0, 0, 0, '{}')`.execute(transaction);
      await finished;
      throw new Error("undone");
    });
    let figures: unknown = "waiting";
    const asked = store.outbox.figures().then((found) => (figures = found));
    await settle();
    expect(figures).toBe("waiting");
    finish();
    await expect(undone).rejects.toThrow("undone");
    await asked;
    expect(figures).toEqual([]);
  });
});

function withIds(prefix: string) {
  let incidents = 0;
  return { ...judgeBy(), newIncidentId: () => `${prefix}-${++incidents}` };
}

function emptyNotification(id: string) {
  const notification: Notification = {
    id,
    receiver: "oncall",
    type: "incident.firing",
    rule: "server-error",
    severity: "critical",
    group: {},
    summary: id,
    runbookUrl: null,
    createdAtMs: startMs,
    causedAtMs: startMs,
    incidents: [],
    truncated: 0,
  };
  const times = { nextAttemptAtMs: startMs, giveUpAtMs: startMs };
  return { notification, itemSeqs: [], groupNames: [], ...times };
}

it("a transaction that SQLite has rolled back itself ends with the error that was the cause", async () => {
  const { kysely, close } = openDatabase(":memory:");
  onTestFinished(close);
  const failed = kysely.transaction().execute(async (trx) => {
    await sql`rollback`.execute(trx);
    throw new Error("database or disk is full");
  });
  await expect(failed).rejects.toThrow("database or disk is full");
  expect((await sql`select 1 as one`.execute(kysely)).rows).toEqual([{ one: 1 }]);
});
