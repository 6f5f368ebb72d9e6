import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { listDrift } from "../../src/api/operations/drift.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listProbes } from "../../src/api/operations/probes.ts";
import { listServers } from "../../src/api/operations/targets.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { notifications } from "../support/heard.ts";
import { runCommand } from "../support/run-command.ts";
import { outOfRange, spoil, unreadable } from "../support/spoil.ts";
import { watchWorld } from "../support/watched-world.ts";

const rules = [
  { name: "erring", on: "server", status: "error", flap: { changes: 3, within: "10m" } },
  {
    name: "probe-failing",
    on: "probe",
    failing: { polls: 1 },
    flap: { changes: 3, within: "10m" },
  },
];
const probes = [{ name: "login", operation: "user", id: "user-1", every: "5s" }];

/** How rows of a table are spoilt, all of them, and as which row that is known. */
const spoilt: readonly (readonly [table: string, statements: string, row: RegExp])[] = [
  ["incidents", "update incidents set receivers = '[\"onc' where rule = 'erring'", /^\S+$/],
  ["incidents", "update incidents set phase = 'burning' where rule = 'erring'", /^\S+$/],
  ["silences", "update silences set match = '{\"rule'", /^\S+$/],
  ["silences", "update silences set match = '{}'", /^\S+$/],
  ["silences", "update silences set match = '[[1]]'", /^\S+$/],
  ["silences", "update silences set match = '{\"rule\":[1,{}]}'", /^\S+$/],
  ["flap_records", "update flap_records set entered = '[1,'", /^1 erring /],
  ["probe_flap_records", "update probe_flap_records set entered = 'x'", /^1 probe-failing$/],
  ["probe_results", "update probe_results set reason = 'bored'", /^1 \d+$/],
  ["drift", "update drift set problem = 'odd'", /unknown_field|odd/],
  ["sandboxes", "update sandboxes set status = 'odd'", /^\S+ of target 1$/],
  ["servers", "update servers set status = 'odd'", /^\d+$/],
  ["servers", "update servers set tags = '[\"T0P'", /^\d+$/],
  ["open_buckets", "update targets set open_bucket = '{'", /^5m of target 1$/],
  ["servers", "update servers set tags = '{}'", /^\d+$/],
  // SQLite reads none of the rows where one has such a number.
  ...["started_at_ms", "fired_at_ms", "held_since_polls"].map(
    (column) => ["incidents", outOfRange("incidents", column), /^\S+$/] as const,
  ),
  ...["starts_at_ms", "ends_at_ms", "created_at_ms"].map(
    (column) => ["silences", outOfRange("silences", column), /^\S+$/] as const,
  ),
  ...["last_poll_at_ms", "observed_polls", "observed_ms", "failures_in_a_row"].map(
    (column) => ["targets", outOfRange("targets", column), /^1$/] as const,
  ),
  ...["attempted_runs", "last_success_at_ms", "failures_in_a_row"].map(
    (column) => ["probes", outOfRange("probes", column), /^1$/] as const,
  ),
  ["servers", outOfRange("servers", "since_at_ms"), /^\d+$/],
  ["sandboxes", outOfRange("sandboxes", "missing"), /^\S+ of target 1$/],
  ["probe_results", outOfRange("probe_results", "at_ms"), /^1 \d+$/],
  ["drift", outOfRange("drift", "last_seen_at_ms"), /unknown_field/],
];

describe("a row that cannot be read", () => {
  it.each(spoilt)(
    "in %s keeps neither the daemon from starting nor a poll from ending: %s",
    async (table, statements, row) => {
      const world = await watchWorld({ servers: 4, alerts: { rules }, probes });
      await world.poll(2);
      const silence = { match: { rule: "nothing" }, author: "ann", reason: "r", duration: "1d" };
      await world.daemon().api(addSilence, silence);
      world.fail({ kind: "status", status: 404, operation: "get_user" });
      world.show(0, "error");
      await world.poll(2);
      await spoil(
        world,
        `insert into drift values ('get_user', 'us', 'a', 'unknown_field', '', null, 1, 1, 1764000000000000); ${statements}`,
      );
      await world.poll();
      const found = unreadable(world);
      expect(found.length).toBeGreaterThan(0);
      expect(found).toContainEqual([table, expect.stringMatching(row)]);
      expect(new Set(found.map(String)).size).toBe(found.length);
      const text = await world.metrics();
      expect(text).toMatch(new RegExp(`sandwatch_store_unreadable_rows\\{table="${table}"\\} \\d`));
      expect(text).toContain('sandwatch_target_up{region="us",key="research"} 1');
      const { api } = world.daemon();
      for (const query of [
        api(listIncidents, {}),
        api(listSilences, {}),
        api(listProbes, {}),
        api(listDrift, {}),
      ]) {
        await expect(query).resolves.toBeDefined();
      }
      world.show(1, "error");
      await world.poll();
      const { incidents } = await api(listIncidents, { state: "firing", rule: "erring" });
      expect(incidents.map((each) => each.server_id)).toContain(world.serverIds[1]);
    },
  );
});

describe("servers that cannot be read", () => {
  it("are forgotten, and what is open of them goes on under its id", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll(2);
    await spoil(world, "update servers set status = 'odd'");
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing"]);
    world.show(0, "idle");
    await world.poll();
    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
    const [fired, resolved] = world.alerts.map(({ data }) => data.incidents[0]);
    expect(resolved).toMatchObject({ id: fired?.id, resolved_reason: "recovered" });
    expect(unreadable(world).map(String).toSorted()).toEqual([
      "servers,1",
      "servers,2",
      "servers,3",
    ]);
    await world.restart();
    expect(unreadable(world)).toHaveLength(3);
    const { servers } = await world.daemon().api(listServers, {});
    expect(servers.map((each) => each.server_id).toSorted()).toEqual(world.serverIds.toSorted());
  });
});

describe("queries", () => {
  it("show what can be read, and say what is missing", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(0, "error");
    await world.poll();
    world.clock.advance(3_600_000);
    await world.poll(2);
    await world.daemon().stop();
    const store = world.config.store.path;
    {
      using database = new DatabaseSync(store);
      database.exec(`
        update changes set to_status = 'odd' where seq = (select min(seq) from changes);
        update incidents set receivers = '[' where rule = 'server-error';
        update targets set open_bucket = '{';
        update open_buckets set bucket = '[' where resolution = '1h';
        update notifications set body = '{' where seq = 1;
      `);
    }
    const config = join(dirname(store), "config.yaml");
    writeFileSync(config, JSON.stringify(fileOf(store)));
    const run = (...args: readonly string[]) => runCommand([...args, "--config", config]);
    const changes = await run("changes");
    expect(changes).toMatchObject({ code: 0, out: expect.stringContaining("error") });
    expect(changes.err).toBe("note: 1 row is missing: the store cannot read them (changes: 1)\n");
    expect((await run("incidents")).err).toMatch(/1 row is missing.*\(incidents: /);
    expect((await run("notifications")).err).toContain("(notifications: 1)");
    expect(await run("explain", world.serverIds[0] ?? "")).toMatchObject({ code: 0 });
    const range = ["--from", "2026-11-20T09:00Z", "--to", "2026-11-20T11:00Z"];
    for (const by of ["region", "server_name", "server_name,hour"]) {
      const report = await run("report", ...range, "--by", by);
      expect([by, report.code, report.err]).toEqual([
        by,
        0,
        expect.stringMatching(/open_buckets: 5m of target 1, 1h/),
      ]);
    }
  });
});

/** Settings of the world's target in a file: in JSON, which is YAML. */
function fileOf(store: string): object {
  return {
    regions: { us: { base_url: "http://127.0.0.1:1" } },
    keys: [{ name: "research", api_key: "none" }],
    store: { path: store },
    http: { listen: "127.0.0.1:0" },
  };
}
