import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statuses } from "../../src/core/model.ts";
import type { SandboxRow, ServerRow } from "../../src/core/snapshot/snapshot.ts";
import { firstOf } from "../../src/platform/first-of.ts";
import { allTime } from "../../src/store/change-history.ts";
import { migrations } from "../../src/store/migrations.ts";
import { listing, research, watchFleet } from "../support/fleet.ts";
import { insertOldChange, insertOldRows, makeOldStore, openOld } from "./support/old-store.ts";
import type { OldSandbox } from "./support/old-store.ts";

const text = fc.oneof(
  fc.constantFrom("a", "b", "quote ' \"", "nul \u0000 line \n", "沙箱 🏖", "__proto__"),
  fc.uuid(),
);
const optional = fc.option(text, { nil: null });
const missing = fc.integer({ min: 0, max: 3 });
const status = fc.constantFrom(...statuses);
const oldServers = fc.record<OldSandbox["servers"][number]>({
  serverId: text,
  serverName: optional,
  benchmark: optional,
  tags: fc.array(text, { maxLength: 2 }),
  status,
  sinceMs: fc.integer({ min: 0, max: 4e12 }),
  sinceObservedMs: fc.double({ min: 0, max: 1e12, noNaN: true }),
  sinceWitnessed: fc.boolean(),
  missing,
});
const oldSandboxes: fc.Arbitrary<OldSandbox> = fc.record({
  sandboxId: text,
  status,
  benchmark: optional,
  missing,
  servers: fc.uniqueArray(oldServers, { selector: ({ serverId }) => serverId, maxLength: 4 }),
});
const oldSnapshots = fc.uniqueArray(oldSandboxes, {
  selector: ({ sandboxId }) => sandboxId,
  maxLength: 12,
});

function inOneOrder(rows: Iterable<SandboxRow | ServerRow>): readonly string[] {
  const textOf = (row: object): string =>
    JSON.stringify(
      Object.entries(row)
        .map(([field, value]) => JSON.stringify([field, value]))
        .toSorted(),
    );
  return Array.from(rows, textOf).toSorted();
}

describe("a store of the first version", () => {
  it("has the same sandboxes and servers when it is opened by this one, and again later", async () => {
    await fc.assert(
      fc.asyncProperty(oldSnapshots, oldSnapshots, async (first, second) => {
        const path = makeOldStore((database) => {
          insertOldRows(database, 1, first);
          insertOldRows(database, 2, second);
        });
        for (let opening = 1; opening <= 2; opening++) {
          const { store } = openOld(path);
          for (const [targetId, old] of [[1, first] as const, [2, second] as const]) {
            const snapshot = await store.targets.snapshotOf(targetId);
            const sandboxes = old.map(({ sandboxId, status: is, benchmark, missing: times }) => ({
              sandboxId,
              status: is,
              benchmark,
              missing: times,
            }));
            const servers = old.flatMap(({ sandboxId, servers: held }) =>
              held.map((server) => ({
                ...server,
                sandboxId,
                sinceObservedMs: Math.floor(server.sinceObservedMs),
              })),
            );
            expect(inOneOrder(snapshot.sandboxes())).toEqual(inOneOrder(sandboxes));
            expect(inOneOrder(snapshot.servers())).toEqual(inOneOrder(servers));
          }
          await store.close();
        }
      }),
      { numRuns: 20 },
    );
  });

  it("keeps its changes, those of one poll in one row", async () => {
    const path = makeOldStore((database) => {
      insertOldChange(database, [1, 1_000, "b", "absent", "idle"]);
      insertOldChange(database, [1, 1_000, "a", "absent", "error"]);
      insertOldChange(database, [2, 1_000, "a", "absent", "idle"]);
      insertOldChange(database, [1, 2_000, "a", "error", "absent"]);
    });
    const { kysely, store } = openOld(path);
    const rows = await kysely.selectFrom("changes").select("change_count").orderBy("id").execute();
    expect(rows.map((row) => row.change_count)).toEqual([2, 1, 1]);
    const unknown = { sandboxId: "box", serverName: null, stayMs: null, lapse: null };
    const [us, other] = [research, { region: "us", key: "evals" }];
    const changes = await firstOf(store.changes.between({ ...allTime, direction: "asc" }), 9);
    expect(changes).toMatchObject([
      { ...unknown, atMs: 1_000, target: us, serverId: "b", from: "absent", to: "idle" },
      { ...unknown, atMs: 1_000, target: us, serverId: "a", from: "absent", to: "error" },
      { ...unknown, atMs: 1_000, target: other, serverId: "a", from: "absent", to: "idle" },
      { ...unknown, atMs: 2_000, target: us, serverId: "a", from: "error", to: "absent" },
    ]);
  });

  it("goes on from what it knew: targets, progress and what polls make of it", async () => {
    const fleet = watchFleet();
    const known = fleet.poll(listing({ a: "idle", b: "error" })).snapshot;
    const path = makeOldStore((database) => {
      const servers = [...known.serversOf("box")];
      insertOldRows(
        database,
        1,
        [...known.sandboxes()].map((sandbox) => ({ ...sandbox, servers })),
      );
    });
    const { store } = openOld(path);
    const [stored] = await store.targets.all();
    expect(stored).toMatchObject({
      id: 1,
      target: research,
      progress: { attempted: { polls: 3, ms: 61_000.5 }, observed: { polls: 2, ms: 30_000.25 } },
    });
    const before = await store.targets.snapshotOf(1);
    expect(inOneOrder(before.servers())).toEqual(inOneOrder(known.servers()));
    const verdict = fleet.poll(listing({ a: "occupied", b: "error" }));
    await store.commitPoll(1, verdict);
    const after = await store.targets.snapshotOf(1);
    expect(inOneOrder(after.servers())).toEqual(inOneOrder(verdict.snapshot.servers()));
  });

  it("has no tables left of that version, and is whole", async () => {
    const { kysely } = openOld(makeOldStore(() => {}));
    const tables = (await kysely.introspection.getTables()).map(({ name }) => name);
    expect(tables).not.toContain("servers");
    expect(tables).not.toContain("sandboxes");
  });
});

describe("a store of the version before pools, silences and flapping", () => {
  /** The columns as that version had them. */
  const insertIncident = `insert into incidents values (?, 'server-error', 'fingerprint', 'critical',
    '["oncall"]', ?, 1, ?, ?, ?, 'error', 'idle', ?, 1000.5, 7, ?, ?, 10, ?, null, null)`;
  const server = ["server", "box", "a", "github"] as const;

  function makeStore(...incidents: readonly (readonly (string | number | null)[])[]): string {
    const path = makeOldStore((database) => {
      migrations[1]?.(database);
      database.exec("pragma user_version = 2");
      const insert = database.prepare(insertIncident);
      for (const values of incidents) insert.run(...values);
    });
    return path;
  }

  it("has its open incidents as they were: told those that fire, flapping none", async () => {
    const path = makeStore(
      ["pending", ...server, "pending", null, null, null],
      ["firing", ...server, "firing", null, 2_000.5, 20],
      ["clearing", ...server, "firing", 3_000.5, 2_000.5, 20],
      ["target", "target", null, null, null, "firing", null, 2_000.5, 20],
    );
    const { store } = openOld(path);
    const [stored, other] = await store.targets.all();
    const heldSince = { ms: 1_000.5, polls: 7 };
    const firing = { name: "firing", heldSince, toldAtMs: 2_000.5, flapping: false };
    const byId = new Map(stored?.openIncidents.map((each) => [each.id, each]));
    expect(byId.get("pending")).toEqual({
      id: "pending",
      rule: "server-error",
      ruleFingerprint: "fingerprint",
      severity: "critical",
      receivers: ["oncall"],
      subject: { kind: "server", sandboxId: "box", serverId: "a", serverName: "github" },
      phase: { name: "pending", heldSince },
      status: "error",
      previousStatus: "idle",
      startedAtMs: 10,
      firedAtMs: null,
      resolvedAtMs: null,
    });
    expect(byId.get("firing")?.phase).toEqual({ ...firing, clearSinceMs: null });
    expect(byId.get("clearing")?.phase).toEqual({ ...firing, clearSinceMs: 3_000.5 });
    expect(byId.get("target")).toMatchObject({ subject: { kind: "target" }, firedAtMs: 20 });
    expect(byId.size).toBe(4);
    expect([stored?.flaps, other?.openIncidents]).toEqual([[], []]);
  });

  it("tells none of those that fire again: an alert without a time of telling was told", async () => {
    const { store } = openOld(makeStore(["firing", ...server, "firing", null, null, 20]));
    const [stored] = await store.targets.all();
    expect(stored?.openIncidents[0]?.phase).toMatchObject({ toldAtMs: 1_000.5 });
  });

  it("keeps what is resolved, and what was to be told is told with what is known now", async () => {
    const item = {
      receiver: "oncall",
      type: "incident.firing",
      rule: "server-error",
      severity: "critical",
      condition: "in error",
      incident: { id: "firing", state: "firing", subject: "server", startedAtMs: 10 },
    };
    const path = makeStore(["firing", ...server, "firing", null, 2_000.5, 20]);
    {
      using database = new DatabaseSync(path);
      database.exec("update incidents set phase = 'resolved', resolved_reason = 'gone'");
      database
        .prepare("insert into outbox_items values (1, 'oncall', 'firing', 's', ?, ?, 5, null)")
        .run(item.type, JSON.stringify(item));
    }
    const { kysely, store } = openOld(path);
    const rows = await kysely.selectFrom("incidents").selectAll().execute();
    expect(rows).toMatchObject([{ phase: "resolved", resolved_reason: "gone", flapping: 0 }]);
    expect(await store.outbox.openItems("oncall", 9)).toMatchObject([
      {
        summaryTemplate: null,
        runbookUrlTemplate: null,
        incident: { id: "firing", receiver: null, flapping: false, acknowledgedBy: null },
      },
    ]);
  });
});
