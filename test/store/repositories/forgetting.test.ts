import { describe, expect, it } from "vitest";
import { startMs } from "../../notify/support/items.ts";
import { firing } from "../../notify/support/notified-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { judgeBy, listing, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { noOutcome } from "../support/outbox-store.ts";
import { openPollStore } from "../support/poll-store.ts";

const tables = [
  "targets",
  "sandboxes",
  "servers",
  "changes",
  "rollups",
  "gaps",
  "incidents",
  "incident_receivers",
  "pool_clocks",
  "outbox_items",
  "notifications",
  "group_times",
  "message_threads",
];

describe.each(engines)("what is stored of a key, on $name,", (engine) => {
  it("is deleted, and nothing of keys whose names are alike", async () => {
    const { kysely, store, rows } = await openPollStore(engine);
    const dump = async () => {
      const each = await Promise.all(tables.map(rows));
      return Object.fromEntries(tables.map((table, at) => [table, each[at]]));
    };
    const add = async (key: string) => {
      const target = { region: "us", key };
      const { id } = await addTarget(store, target);
      const judge = { ...judgeBy(), newIncidentId: () => `of ${key}` };
      const { poll } = watchFleet(target, { judge });
      const named = JSON.stringify(["server-error", "critical", "us", key]);
      const pool = { kind: "pool", region: null, key, serverName: null } as const;
      const written = [firing(`pool of ${key}`, { subject: pool })];
      const pools = {
        incidents: { ...noOutcome, written },
        clocks: [{ rule: "pool-full", region: null, key, ms: 10_000 }],
      };
      const verdict = poll(listing({ a: "error", b: "occupied" }));
      await store.commitPoll(id, verdict);
      await store.commitPools(id, pools);
      await store.messageThreads.save(
        "chat",
        "server-error",
        { group: named, message: "{}" },
        startMs,
      );
      const groupTime = { receiver: "chat", group_name: named, notified_at_ms: startMs };
      await kysely.insertInto("group_times").values(groupTime).execute();
    };
    for (const key of ["axb", "A_B"]) await add(key);
    const others = await dump();
    await add("a_b");
    expect(await store.forgetting.undelivered("a_b")).toEqual({ waiting: 1, shared: 0 });

    const { deleted, isComplete } = await store.forgetting.forget("a_b", () => true);
    expect([deleted > 0, isComplete]).toEqual([true, true]);
    expect(await dump()).toEqual(others);
    const clock = { rule: "pool-full", region: null, ms: 10_000 };
    expect(new Set(await store.targets.poolClocks())).toEqual(
      new Set(["axb", "A_B"].map((key) => ({ ...clock, key }))),
    );
    expect(await store.forgetting.forget("a_b", () => true)).toMatchObject({ deleted: 0 });
  });
});
