import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Incident } from "../../../src/alerts/incident.ts";
import type { Verdict } from "../../../src/alerts/judge.ts";
import type { ListedSandbox } from "../../../src/fleet/snapshot.ts";
import { eachServer, findServer } from "../../../src/fleet/snapshot.ts";
import {
  judgeBy,
  listing,
  research,
  server,
  serverError,
  watchFleet,
} from "../../support/fleet.ts";
import { emptyBucket } from "../../../src/fleet/buckets.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { contentOf, contentOfTarget, openPollStore } from "../support/poll-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { engines, sqliteIn } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  function uuid(number: number): string {
    return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
  }

  /** As many idle servers, four a sandbox, with some of other statuses. */
  function manyServers(count: number, others: Readonly<Record<number, "error" | "occupied">> = {}) {
    const sandboxes: ListedSandbox[] = [];
    for (let from = 0; from < count; from += 4) {
      const servers = [from, from + 1, from + 2, from + 3].map((index) =>
        server(uuid(index), { status: others[index] ?? "idle" }),
      );
      sandboxes.push({ id: uuid(10_000 + from), status: "idle", benchmark: null, servers });
    }
    return { sandboxes, complete: true };
  }

  describe("what a poll writes", () => {
    it.runIf(engine.name === "SQLite")(
      "is one row when nothing changed, however many servers there are",
      async () => {
        const { store, targetId, written } = await openPollStore(engine);
        const { poll } = watchFleet();
        await store.commitPoll(targetId, poll(manyServers(2_000)));
        const quiet = () => store.commitPoll(targetId, poll(manyServers(2_000)));
        expect(await written(quiet)).toBe(1);
      },
    );

    it.runIf(engine.name === "SQLite")(
      "is that row and one for the gap when it failed and no rule asks for that",
      async () => {
        const { store, targetId, written } = await openPollStore(engine);
        const { poll } = watchFleet(research, { judge: judgeBy([serverError]) });
        await store.commitPoll(targetId, poll(manyServers(40)));
        expect(await written(() => store.commitPoll(targetId, poll("failed")))).toBe(2);
      },
    );

    it.runIf(engine.name === "SQLite")(
      "is two rows for each server that changed, and one for the numbers of the changes",
      async () => {
        const { store, targetId, written } = await openPollStore(engine);
        const { poll } = watchFleet();
        await store.commitPoll(targetId, poll(manyServers(2_000)));
        const busy = poll(manyServers(2_000, { 7: "occupied", 900: "occupied" }));
        expect(await written(() => store.commitPoll(targetId, busy))).toBe(1 + 2 * 2 + 1);
      },
    );

    it("comes back with all of its servers", async () => {
      const { store, targetId } = await openPollStore(engine);
      const { poll, watched } = watchFleet();
      await store.commitPoll(targetId, poll(manyServers(1_000, { 3: "error" })));
      expect(await contentOf(store)).toEqual(contentOfTarget(watched));
    });
  });

  describe("a poll's rows", () => {
    it("tell what changed, when, and for which target", async () => {
      const { store, targetId, rows } = await openPollStore(engine);
      const { poll } = watchFleet();
      await store.commitPoll(targetId, poll(listing({ a: "idle" })));
      const verdict = poll(listing({ a: "error" }));
      await store.commitPoll(targetId, verdict);
      const [row] = await rows("servers");
      expect(row).toMatchObject({
        target_id: targetId,
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
    });

    it("are of one target alone", async () => {
      const { store, targetId, rows } = await openPollStore(engine);
      const other = await addTarget(store, { region: "eu", key: "research" });
      const [us, eu] = [watchFleet(), watchFleet({ region: "eu", key: "research" })];
      await store.commitPoll(targetId, us.poll(listing({ a: "idle" })));
      await store.commitPoll(other.id, eu.poll(listing({ a: "occupied", b: "idle" })));
      await store.commitPoll(targetId, us.poll(listing({})));
      await store.commitPoll(targetId, us.poll(listing({})));
      expect([...eachServer(await store.targets.snapshotOf(targetId))]).toEqual([]);
      const left = [...eachServer(await store.targets.snapshotOf(other.id))];
      expect(left.map(({ server: { id } }) => id)).toEqual(["a", "b"]);
      const gone = (await rows("servers")).filter((row) => row["gone_at_ms"] !== null);
      expect(gone.map((row) => row["target_id"])).toEqual([targetId]);
    });
  });

  describe("a commit is all or nothing", () => {
    /** A verdict whose every part must be written, and whose last part can be spoilt. */
    function fullVerdict(): { first: Verdict; second: Verdict } {
      const { poll } = watchFleet();
      const first = poll(listing({ a: "idle", b: "idle" }));
      return { first, second: poll(listing({ a: "error", c: "occupied" })) };
    }

    const spoilIncident = (verdict: Verdict, spoil: Partial<Incident>): Verdict => ({
      ...verdict,
      incidents: {
        ...verdict.incidents,
        written: verdict.incidents.written.map((incident) => ({ ...incident, ...spoil })),
      },
    });

    it.each<readonly [what: string, spoil: (verdict: Verdict) => Verdict]>([
      ["an incident's row", (verdict) => spoilIncident(verdict, { startedAtMs: 0.5 })],
      [
        "an outbox item's row",
        (verdict) => ({
          ...verdict,
          incidents: {
            ...verdict.incidents,
            outbox: verdict.incidents.outbox.map((item) => ({ ...item, causedAtMs: 0.5 })),
          },
        }),
      ],
      [
        "a server's row",
        (verdict) => ({
          ...verdict,
          diff: {
            ...verdict.diff,
            servers: verdict.diff.servers.map((diff) => ({
              ...diff,
              after: diff.after && { ...diff.after, missing: 0.5 },
            })),
          },
        }),
      ],
      [
        "a bucket's row",
        (verdict) => ({
          ...verdict,
          accounting: {
            ...verdict.accounting,
            written: [{ resolution: "1d", bucket: { ...emptyBucket(0), recordedMs: 0.5 } }],
          },
        }),
      ],
      ["a change's row", (verdict) => ({ ...verdict, at: { ...verdict.at, utcMs: Number.NaN } })],
    ])("when %s is refused nothing of the poll is there", async (_, spoil) => {
      const { store, targetId, everything } = await openPollStore(engine);
      const { first, second } = fullVerdict();
      await store.commitPoll(targetId, first);
      const before = await everything();
      await expect(store.commitPoll(targetId, spoil(second))).rejects.toThrow(refused);
      expect(await everything()).toEqual(before);
      await store.commitPoll(targetId, second);
      expect(await store.outbox.openItems("oncall", 9)).toHaveLength(1);
    });

    it.runIf(engine.name === "SQLite")(
      "a full disk is named as what it is, and when there is room again all goes on",
      async () => {
        const { store, targetId, everything, limitPages } = await openPollStore(
          sqliteIn(join(tempFolder(), "sandwatch.db")),
        );
        const verdict = watchFleet().poll(manyServers(1_000));
        const before = await everything();
        await limitPages(2);
        await expect(store.commitPoll(targetId, verdict)).rejects.toThrow(
          "database or disk is full",
        );
        expect(await everything()).toEqual(before);
        await limitPages(1_000_000);
        await store.commitPoll(targetId, verdict);
        expect([...eachServer(await store.targets.snapshotOf(targetId))]).toHaveLength(1_000);
      },
    );

    it("when a target is not known nothing is there either", async () => {
      const { store, everything } = await openPollStore(engine);
      const before = await everything();
      await expect(store.commitPoll(99, fullVerdict().first)).rejects.toThrow(
        "The poll was not stored",
      );
      expect(await everything()).toEqual(before);
    });

    it("also what a changed configuration does to incidents", async () => {
      const { store, targetId, everything } = await openPollStore(engine);
      const { first, second } = fullVerdict();
      await store.commitPoll(targetId, first);
      const before = await everything();
      const { incidents } = second;
      const spoilt = {
        ...incidents,
        outbox: incidents.outbox.map((item) => ({ ...item, causedAtMs: 0.5 })),
      };
      await expect(store.commitIncidents(targetId, spoilt)).rejects.toThrow(refused);
      expect(await everything()).toEqual(before);
      await store.commitIncidents(targetId, incidents);
      expect(await everything()).not.toEqual(before);
    });
  });

  /** What the databases say of a value that a column does not take. */
  const refused = /cannot store|constraint failed|invalid input syntax/;

  describe("a target that another process has written", () => {
    it("is not written over: nothing of the poll is there", async () => {
      const { store, restart, targetId, everything } = await openPollStore(engine);
      const [one, other] = [watchFleet(), watchFleet()];
      await store.commitPoll(targetId, one.poll(listing({ a: "idle" })));
      const second = restart();
      await second.targets.all();
      other.poll(listing({ a: "idle" }));
      await second.commitPoll(targetId, other.poll(listing({ a: "error" })));
      const before = await everything();
      for (const status of ["occupied", "error"] as const) {
        const stale = store.commitPoll(targetId, one.poll(listing({ a: status, b: "error" })));
        await expect(stale).rejects.toThrow("another process has written target");
      }
      expect(await everything()).toEqual(before);
      await second.commitPoll(targetId, other.poll(listing({ a: "idle" })));
    });

    it("is not written over by one that read it before and wrote nothing yet", async () => {
      const { store, restart, targetId } = await openPollStore(engine);
      const second = restart();
      await second.targets.all();
      await store.commitPoll(targetId, watchFleet().poll(listing({ a: "idle" })));
      const stale = second.commitPoll(targetId, watchFleet().poll(listing({ a: "error" })));
      await expect(stale).rejects.toThrow("another process has written target");
    });
  });

  describe("a server that is gone", () => {
    it("keeps its row, and has it again when it comes back, also in a later process", async () => {
      const { store, restart, targetId, rows } = await openPollStore(engine);
      const { poll } = watchFleet();
      const gone = [{ a: "idle" }, {}, {}] as const;
      for (const each of gone) await store.commitPoll(targetId, poll(listing(each)));
      const [before] = await rows("servers");
      expect(before).toMatchObject({ server_id: "a" });
      expect(before?.["gone_at_ms"]).not.toBeNull();
      const next = restart();
      await next.targets.all();
      await next.commitPoll(targetId, poll(listing({ a: "occupied" })));
      expect(await rows("servers")).toMatchObject([
        { id: before?.["id"], status: "occupied", gone_at_ms: null },
      ]);
      const snapshot = await next.targets.snapshotOf(targetId);
      expect(findServer(snapshot, "box", "a")?.status).toBe("occupied");
      expect((await rows("changes")).map((row) => row["to_status"])).toEqual([
        "idle",
        "idle",
        "absent",
        "occupied",
      ]);
    });

    it("is known by its new name where it was given one, and stays one server", async () => {
      const { store, targetId, rows } = await openPollStore(engine);
      const { poll } = watchFleet();
      const named = (name: string) => ({
        complete: true,
        sandboxes: [
          { id: "box", status: "idle" as const, benchmark: null, servers: [server("a", { name })] },
        ],
      });
      await store.commitPoll(targetId, poll(named("git")));
      await store.commitPoll(targetId, poll(named("github")));
      expect(await rows("servers")).toMatchObject([{ server_id: "a", server_name: "github" }]);
      expect(await rows("changes")).toHaveLength(1);
    });
  });
});
