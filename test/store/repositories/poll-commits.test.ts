import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../src/alerts/judge.ts";
import { eachServer, findServer } from "../../../src/fleet/snapshot.ts";
import { addTarget } from "../../support/add-target.ts";
import {
  judgeBy,
  listing,
  research,
  server,
  serverError,
  watchFleet,
} from "../../support/fleet.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { engines, sqliteIn } from "../support/engines.ts";
import { openPollStore } from "../support/poll-store.ts";

describe.each(engines)("commits of polls on $name", (engine) => {
  /** As many idle servers, with some of another status. */
  function manyServers(count: number, others: Readonly<Record<number, "occupied">> = {}) {
    const servers = Array.from(
      { length: count },
      (_, n) => [`s${n}`, others[n] ?? "idle"] as const,
    );
    return listing(Object.fromEntries(servers));
  }

  it.runIf(engine.name === "SQLite")(
    "write a row where nothing changed, and two a change",
    async () => {
      const { store, targetId, written } = await openPollStore(engine);
      const { poll } = watchFleet(research, { judge: judgeBy([serverError]) });
      const commit = (...outcome: Parameters<typeof poll>) =>
        store.commitPoll(targetId, poll(...outcome));
      await commit(manyServers(2_000));
      expect(await written(() => commit(manyServers(2_000)))).toBe(1);
      const others = { 7: "occupied", 900: "occupied" } as const;
      // And one for the numbers of the changes.
      expect(await written(() => commit(manyServers(2_000, others)))).toBe(1 + 2 * 2 + 1);
      // A poll that failed begins a gap.
      expect(await written(() => commit("failed"))).toBe(2);
    },
  );

  it("write what changed, when, and for which target", async () => {
    const { store, targetId, rows } = await openPollStore(engine);
    const other = await addTarget(store, { region: "eu", key: "research" });
    const [us, eu] = [watchFleet(), watchFleet({ region: "eu", key: "research" })];
    await store.commitPoll(targetId, us.poll(listing({ a: "idle" })));
    await store.commitPoll(other.id, eu.poll(listing({ a: "occupied", b: "idle" })));
    const verdict = us.poll(listing({ a: "error" }));
    await store.commitPoll(targetId, verdict);
    const row = (await rows("servers")).find((each) => each["target_id"] === targetId);
    expect(row).toMatchObject({
      sandbox_id: "box",
      server_id: "a",
      server_name: "github",
      status: "error",
      since_at_ms: verdict.at.utcMs,
      gone_at_ms: null,
    });
    expect((await rows("changes")).at(-1)).toMatchObject({
      at_ms: verdict.at.utcMs,
      server: row?.["id"],
      from_status: "idle",
      to_status: "error",
      observation: null,
    });
    expect(await rows("outbox_items")).toMatchObject([
      { receiver: "oncall", incident_id: "incident-1", type: "incident.firing" },
    ]);
    for (const _ of [1, 2]) await store.commitPoll(targetId, us.poll(listing({})));
    expect([...eachServer(await store.targets.snapshotOf(targetId))]).toEqual([]);
    expect([...eachServer(await store.targets.snapshotOf(other.id))]).toHaveLength(2);
  });

  describe("are all or nothing", () => {
    /** Two verdicts, of which the second has every part that must be written. */
    function verdicts() {
      const { poll } = watchFleet();
      const first = poll(listing({ a: "idle", b: "idle" }));
      return { first, second: poll(listing({ a: "error", c: "occupied" })) };
    }

    const refused = /cannot store|constraint failed|invalid input syntax/;
    const spoilItems = (incidents: Verdict["incidents"]): Verdict["incidents"] => {
      return {
        ...incidents,
        outbox: incidents.outbox.map((item) => ({ ...item, causedAtMs: 0.5 })),
      };
    };

    it.each<readonly [what: string, spoil: (verdict: Verdict) => Partial<Verdict>]>([
      ["an item of the outbox", ({ incidents }) => ({ incidents: spoilItems(incidents) })],
      [
        "a gap",
        () => {
          const opened = { fromMs: 0.5, toMs: null, reason: "timeout" } as const;
          return { gap: { closedAtMs: null, opened } };
        },
      ],
      [
        "a change",
        ({ progress }) => ({
          progress: { ...progress, recorded: { fromMs: 0, toMs: Number.NaN } },
        }),
      ],
    ])("when %s is refused", async (_, spoil) => {
      const { store, targetId, everything } = await openPollStore(engine);
      const { first, second } = verdicts();
      await store.commitPoll(targetId, first);
      const before = await everything();
      const spoilt = store.commitPoll(targetId, { ...second, ...spoil(second) });
      await expect(spoilt).rejects.toThrow(refused);
      expect(await everything()).toEqual(before);
      await store.commitPoll(targetId, second);
      expect(await store.outbox.openItems("oncall", 9)).toHaveLength(1);
    });

    it("also of what a changed configuration does to incidents", async () => {
      const { store, targetId, everything } = await openPollStore(engine);
      const { first, second } = verdicts();
      await store.commitPoll(targetId, first);
      const before = await everything();
      const spoilt = store.commitIncidents(targetId, spoilItems(second.incidents));
      await expect(spoilt).rejects.toThrow(refused);
      expect(await everything()).toEqual(before);
    });

    it.runIf(engine.name === "SQLite")("when the disk is full, until it is not", async () => {
      const file = sqliteIn(join(tempFolder(), "sandwatch.db"));
      const { store, targetId, everything, limitPages } = await openPollStore(file);
      const verdict = watchFleet().poll(manyServers(1_000));
      const before = await everything();
      await limitPages(2);
      const full = store.commitPoll(targetId, verdict);
      await expect(full).rejects.toThrow("database or disk is full");
      expect(await everything()).toEqual(before);
      await limitPages(1_000_000);
      await store.commitPoll(targetId, verdict);
      expect([...eachServer(await store.targets.snapshotOf(targetId))]).toHaveLength(1_000);
    });
  });

  it("keep the row of a server that is gone, or renamed, also for a later process", async () => {
    const { store, restart, targetId, rows } = await openPollStore(engine);
    const { poll } = watchFleet();
    for (const each of [{ a: "idle" }, {}, {}] as const) {
      await store.commitPoll(targetId, poll(listing(each)));
    }
    const [before] = await rows("servers");
    expect(before?.["gone_at_ms"]).not.toBeNull();
    const next = restart();
    await next.targets.all();
    await next.commitPoll(targetId, poll(listing({ a: "occupied" })));
    const box = { id: "box", status: "idle", benchmark: null, createdAt: null } as const;
    const renamed = { ...box, servers: [server("a", { name: "git", status: "occupied" })] };
    await next.commitPoll(targetId, poll({ complete: true, sandboxes: [renamed] }));
    expect(await rows("servers")).toMatchObject([
      { id: before?.["id"], server_name: "git", status: "occupied", gone_at_ms: null },
    ]);
    const snapshot = await next.targets.snapshotOf(targetId);
    expect(findServer(snapshot, "box", "a")?.name).toBe("git");
    const changes = (await rows("changes")).filter((row) => row["server"] !== null);
    const statuses = changes.map((row) => row["observation"] ?? row["to_status"]);
    expect(statuses).toEqual(["idle", "missing", "absent", "occupied", "updated"]);
  });

  it("keep the row of a sandbox that is gone, with what its changes refer to", async () => {
    const { store, targetId, rows } = await openPollStore(engine);
    const { poll } = watchFleet();
    const createdAt = 1_771_275_925_770;
    const box = {
      id: "box",
      status: "idle",
      benchmark: "MCP_Atlas",
      createdAt,
      servers: [],
    } as const;
    for (const sandboxes of [[box], [], [], [{ ...box, status: "error" as const }]]) {
      await store.commitPoll(targetId, poll({ complete: true, sandboxes }));
    }
    const [only, ...others] = await rows("sandboxes");
    expect(others).toEqual([]);
    expect(only).toMatchObject({ status: "error", stated_status: "error", gone_at_ms: null });
    expect(only).toMatchObject({ benchmark: "MCP_Atlas", created_at_ms: createdAt });
    const changes = await rows("changes");
    expect(
      changes.map((row) => [row["sandbox"], row["server"], row["to_status"], row["observation"]]),
    ).toEqual([
      [only?.["id"], null, "idle", null],
      [only?.["id"], null, "idle", "missing"],
      [only?.["id"], null, "absent", null],
      [only?.["id"], null, "error", null],
    ]);
  });
});
