import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { forgetKey } from "../../src/api/operations/forget-key.ts";
import { sendReport } from "../../src/api/operations/reports.ts";
import { checkStore } from "../../src/store/sqlite/store-check.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { dumpStore } from "../support/store-dump.ts";
import { watchWorld } from "../support/watched-world.ts";

const rules = [
  { name: "erring", on: "server", status: "error", flap: { changes: 2, within: "1h" } },
  { name: "probe-failing", on: "probe", failing: { polls: 1 } },
  { name: "pool-full", on: "pool", by: ["region", "key"], occupied_ratio: { above: 0.1 } },
];

const report = { name: "weekly", schedule: "weekly", range: "1h", receivers: ["oncall"] };

/** A world with two keys, of which `research` has an incident of each kind, in which messages are composed by group. */
async function watched(receiver: object = {}, polls = 3) {
  const world = await watchWorld({
    keys: ["research", "production"],
    servers: 3,
    alerts: { rules },
    probes: [{ name: "login", operation: "user", id: "user-1", every: "5s" }],
    receiver: { group_interval: "1s", ...receiver },
    reports: [report, { ...report, name: "others", keys: ["production"] }],
  });
  await world.poll();
  world.show(0, "error");
  world.show(1, "occupied");
  world.fail({ kind: "status", status: 404, operation: "get_user" });
  await world.poll(polls);
  return { world, path: world.config.store.path };
}

/** Forgets a key with a configuration of the store in which only another key is. */
function forget(path: string, key: string, ...options: readonly string[]) {
  const { config } = writeConfig({
    keys: [{ name: "production", api_key: "none" }],
    store: { path },
  });
  return runCommand(["store", "forget", "--key", key, ...options, "--config", config]);
}

/** Every row in which a text stands. */
function rowsWith(path: string, text: string): readonly string[] {
  return Object.entries(dumpStore(path)).flatMap(([table, rows]) =>
    rows.filter((row) => JSON.stringify(row).includes(text)).map(() => table),
  );
}

describe("store forget", () => {
  it("deletes everything of a key in every table, and nothing of another one", async () => {
    const { world, path } = await watched({}, 20);
    for (const name of ["weekly", "others"]) await world.daemon().api(sendReport, { name });
    await world.poll();
    await world.daemon().stop();
    const reports = () => rowsWith(path, String.raw`\"type\":\"report\"`);
    expect(reports()).toHaveLength(2);
    using database = new DatabaseSync(path);
    const id = database.prepare("select id from targets where key = 'research'").get()?.["id"];
    // More of each than one transaction deletes.
    database.exec(`
      insert into changes with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)
        select i + 1000000, ${Number(id)}, 0, (select min(id) from servers where target_id = ${Number(id)}), null, 'idle', 'error', null, null, 0, 1, null from n
        union all
        select i + 1100000, ${Number(id)}, 0, null, (select min(id) from sandboxes where target_id = ${Number(id)}), 'idle', 'error', null, null, 0, 1, null from n;
      update commit_sequence set value = 2000000;
      insert into counted_values values (99, 'name');
      insert into rollups with recursive n (i) as (select 1 union all select i + 1 from n where i < 60)
        select counted, '1h', i * 3600000, ${Number(id)}, 99, 0, 0, 0, 0, 0, 0, 0, 0, null, null, 0, 0, 0, 0, 0, null
        from n, (select 'server' as counted union all select 'tag');
      insert into gaps with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)
        select ${Number(id)}, i * 10, i * 10 + 5, 'late' from n;`);
    const before = dumpStore(path);
    const ids = (table: string, column: string): readonly unknown[] =>
      (before[table] ?? []).map((row) => Object(row)[column]);
    expect(ids("incidents", "subject")).toEqual(
      expect.arrayContaining(["server", "pool", "probe"]),
    );
    for (const table of ["rollups", "gaps", "flap_records", "pool_clocks", "group_times"]) {
      expect([table, before[table]?.length]).not.toEqual([table, 0]);
    }
    expect(rowsWith(path, "research").length).toBeGreaterThan(10);
    const { code, out, err } = await forget(path, "research", "--yes");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^\d,\d{3} rows of the key research were deleted\./);

    expect(rowsWith(path, "research")).toEqual([]);
    expect(reports()).toHaveLength(1);
    const after = dumpStore(path);
    const ofOther = (table: string, isOther: (row: Record<string, unknown>) => boolean) =>
      (before[table] ?? []).filter((row) => isOther({ ...row }));
    for (const table of ["sandboxes", "servers"]) {
      const kept = ofOther(table, (row) => row["target_id"] !== id);
      expect(kept.length).toBeGreaterThan(0);
      expect([table, after[table]]).toEqual([table, kept]);
    }
    expect(after["targets"]).toEqual(ofOther("targets", ({ key }) => key !== "research"));
    expect(after["probes"]).toEqual(ofOther("probes", ({ key }) => key !== "research"));
    const probeIncidents = ofOther("incidents", ({ key }) => key === "production");
    expect(after["incidents"]).toEqual(probeIncidents);
    expect(probeIncidents.length).toBeGreaterThan(0);
    expect(after["notifications"]?.length).toBeGreaterThan(0);
    expect(after["gaps"]).toEqual(ofOther("gaps", (row) => row["target_id"] !== id));
    expect(checkStore(path).faults).toEqual([]);

    expect((await forget(path, "research", "--yes")).out).toContain("Nothing is stored of a key");
  });

  it("keeps notifications that wait, unless these are to be deleted, too", async () => {
    const { world, path } = await watched({ send_resolved: true });
    world.peer.answer(503);
    world.show(0, "idle");
    await world.poll(3);
    await world.daemon().stop();
    const before = dumpStore(path);
    expect(await forget(path, "research", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^Notifications about the key research that are not delivered yet: 1\. Wait until they are, or add --undelivered\.$/m,
      ),
    });
    expect(dumpStore(path)).toEqual(before);
    expect(await forget(path, "research", "--yes", "--undelivered")).toMatchObject({ code: 0 });
    expect(rowsWith(path, "research")).toEqual([]);
    expect(checkStore(path).faults).toEqual([]);
  });

  it("keeps reports that wait", async () => {
    const { world, path } = await watched();
    world.peer.answer(503);
    await world.daemon().api(sendReport, { name: "weekly" });
    await world.poll();
    await world.daemon().stop();
    const before = dumpStore(path);
    expect(await forget(path, "research", "--yes", "--undelivered")).toMatchObject({ code: 1 });
    expect(dumpStore(path)).toEqual(before);
  });

  it("keeps them in any case if they are about other keys, too", async () => {
    const { world, path } = await watched({ group_by: ["rule"] });
    world.peer.answer(503);
    world.fail();
    await world.poll(3);
    await world.daemon().stop();
    const { code, err } = await forget(path, "research", "--yes", "--undelivered");
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("(of these also about other keys: 1). Wait until they are."),
    ]);
  });

  it("is refused for a configured key, and without confirmation", async () => {
    const { world, path } = await watched();
    const forgetting = world.daemon().api(forgetKey, { key: "research" });
    await expect(forgetting).rejects.toThrow("The key research is configured. Remove it");
    await world.daemon().stop();
    const before = dumpStore(path);
    expect(await forget(path, "production", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("The key production is configured."),
    });
    expect(await forget(path, "research")).toMatchObject({
      code: 2,
      err: expect.stringContaining("add --yes"),
    });
    expect(dumpStore(path)).toEqual(before);
  });

  it("is done by a running daemon in parts, between which it does other work", async () => {
    const { world, path } = await watched();
    using database = new DatabaseSync(path);
    database.exec(`insert into targets
      select 99, 'eu', 'former', attempted_polls, attempted_ms, observed_polls, observed_ms, 0, null, null, null, null, null, 1, 0, null, null, null
      from targets limit 1;
      insert into gaps with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)
        select 99, i * 10, i * 10 + 5, 'late' from n;`);
    const { clock } = world;
    const now = clock.now.bind(clock);
    // Each look at the clock is a second later.
    clock.now = () => {
      clock.advance(1_000);
      return now();
    };
    const { api } = world.daemon();
    const first = await api(forgetKey, { key: "former" });
    expect(first).toEqual({ deleted: 1_000, complete: false });
    expect(await api(forgetKey, { key: "former" })).toEqual({ deleted: 201, complete: false });
    expect(await api(forgetKey, { key: "former" })).toEqual({ deleted: 0, complete: true });
    expect(rowsWith(path, "former")).toEqual([]);
    expect(world.log.filter(({ event }) => event === "history.forgotten")).toHaveLength(2);
  });
});
