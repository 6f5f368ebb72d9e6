import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { listDrift } from "../../src/api/operations/drift.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  showNotification,
} from "../../src/api/operations/notifications.ts";
import { listProbes } from "../../src/api/operations/probes.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { listServers } from "../../src/api/operations/targets.ts";
import { notifications } from "../support/heard.ts";
import { runCommand } from "../support/run-command.ts";
import { dumpStore } from "../support/store-dump.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

const flap = { changes: 3, within: "10m" };
const rules = [
  { name: "erring", on: "server", status: "error", flap },
  { name: "probe-failing", on: "probe", failing: { polls: 1 }, flap },
];
const probes = [{ name: "login", operation: "user", id: "user-1", every: "5s" }];

/** Runs statements on the store between two runs of the daemon. */
async function spoil(
  world: WatchedWorld,
  statements: string,
  changed?: { readonly alerts?: object },
): Promise<void> {
  await world.daemon().stop();
  {
    using database = new DatabaseSync(world.config.store.path);
    database.exec(statements);
  }
  await world.restart(changed);
}

function unreadable(world: WatchedWorld): readonly unknown[] {
  return world.log.flatMap(({ event, table, row }) =>
    event === "store.row_unreadable" ? [[table, row]] : [],
  );
}

/** How rows are spoilt, all those of a table, and as which row that is known. */
const spoilt: readonly (readonly [table: string, change: string, row: RegExp])[] = [
  ["incidents", "phase = 'burning' where rule = 'erring'", /^\S+$/],
  ["silences", "match = '{\"rule'", /^\S+$/],
  ["silences", "match = '{\"rule\":[1,{}]}'", /^\S+$/],
  ["flap_records", "entered = '[1,'", /^1 erring /],
  ["probe_flap_records", "entered = 'x'", /^1 probe-failing$/],
  ["probe_results", "reason = 'bored'", /^1 \d+$/],
  ["drift", "problem = 'odd'", /unknown_field|odd/],
  ["sandboxes", "status = 'odd'", /^\d+$/],
  ["sandboxes", "stated_status = 'odd'", /^\d+$/],
  ["servers", "status = 'odd'", /^\d+$/],
  ["servers", "tags = '{}'", /^\d+$/],
];

/** SQLite reads none of the rows where one has such a number. */
const tooLarge = [
  ["incidents", "started_at_ms fired_at_ms held_since_polls", /^\S+$/],
  ["silences", "starts_at_ms ends_at_ms created_at_ms", /^\S+$/],
  ["targets", "last_poll_at_ms observed_polls observed_ms failures_in_a_row", /^1$/],
  ["probes", "attempted_runs last_success_at_ms failures_in_a_row", /^1$/],
  ["servers", "since_at_ms", /^\d+$/],
  ["sandboxes", "missing since_at_ms created_at_ms", /^\d+$/],
  ["probe_results", "at_ms", /^1 \d+$/],
  ["drift", "last_seen_at_ms", /unknown_field/],
] as const;

/** The results of a probe are not read where the probe cannot be. */
const readWith = (table: string): string => (table === "probe_results" ? "probes" : table);

/** Each way of a table in another round, in which other tables are spoilt, too. */
const rounds = [
  ...spoilt,
  ...tooLarge.flatMap(([table, columns, row]) =>
    columns.split(" ").map((column) => [table, `${column} = 9223372036854775807`, row] as const),
  ),
].reduce<(readonly [table: string, change: string, row: RegExp])[][]>((all, each) => {
  const round = all.find((some) => some.every(([table]) => readWith(table) !== readWith(each[0])));
  if (round) round.push(each);
  else all.push([each]);
  return all;
}, []);

it.each(rounds.map((spoils) => ({ spoils, names: spoils.map(([table]) => table).join(", ") })))(
  "rows that cannot be read keep neither the daemon from starting nor a poll from ending: $names",
  async ({ spoils }) => {
    const world = await watchWorld({ servers: 4, alerts: { rules }, probes });
    await world.poll(2);
    const silence = {
      match: { rule: "nothing" },
      author: "ann",
      reason: "r",
      duration: "1d",
      force: true,
    };
    await world.daemon().api(addSilence, silence);
    world.fail({ kind: "status", status: 404, operation: "get_user" });
    world.show(0, "error");
    await world.poll(2);
    const drift = "'get_user', 'us', 'a', 'unknown_field', '', null, 1, 1, 1764000000000000";
    const updates = spoils.map(([table, change]) => `update ${table} set ${change}`);
    await spoil(world, [`insert into drift values (${drift})`, ...updates].join(";"));
    await world.poll();
    const found = unreadable(world);
    expect(new Set(found.map(String)).size).toBe(found.length);
    const text = await world.metrics();
    for (const [table, , row] of spoils) {
      expect(found).toContainEqual([table, expect.stringMatching(row)]);
      expect(text).toMatch(new RegExp(`sandwatch_store_unreadable_rows\\{table="${table}"\\} \\d`));
    }
    expect(text).toContain('sandwatch_target_up{region="us",key="research"} 1');
    const { api } = world.daemon();
    await Promise.all([api(listSilences, {}), api(listProbes, {}), api(listDrift, {})]);
    world.show(1, "error");
    await world.poll();
    const { incidents } = await api(listIncidents, { state: "firing", rule: "erring" });
    expect(incidents.map((each) => each.server_id)).toContain(world.serverIds[1]);
  },
);

it("servers that cannot be read are forgotten, and their incidents go on under their ids", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll(2);
  await spoil(world, "update servers set status = 'odd'");
  await world.poll(2);
  world.show(0, "idle");
  await world.poll();
  expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
  const [fired, resolved] = world.alerts.map(({ data }) => data.incidents[0]);
  expect(resolved).toMatchObject({ id: fired?.id, resolved_reason: "recovered" });
  await world.restart();
  expect(unreadable(world)).toHaveLength(3);
  const { servers } = await world.daemon().api(listServers, {});
  expect(servers.map((each) => each.server_id).toSorted()).toEqual(world.serverIds.toSorted());
});

it("an incident whose receivers are missing goes on, and is notified again to those of its rule", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll(2);
  await spoil(world, "delete from incident_receivers");
  await world.poll();
  world.show(0, "idle");
  await world.poll();
  expect(notifications(world)).toEqual([
    "server-error firing",
    "server-error firing",
    "server-error resolved",
  ]);
  const ids = world.alerts.flatMap(({ data }) => data.incidents.map(({ id }) => id));
  expect(new Set(ids).size).toBe(1);
  expect(unreadable(world)).toEqual([]);
});

it("queries show what can be read, and name on standard error what cannot", async () => {
  const world = await watchWorld();
  await world.poll();
  world.show(0, "error");
  await world.poll();
  world.clock.advance(3_600_000);
  await world.poll(2);
  await world.daemon().stop();
  const { path } = world.config.store;
  {
    using database = new DatabaseSync(path);
    database.exec(`
      update changes set to_status = 'odd' where seq = (select min(seq) from changes where server is not null);
      update incidents set phase = 'burning' where rule = 'server-error';
      update rollups set dwells = '[';
      update notifications set body = '{' where seq = 1;
    `);
  }
  const config = join(dirname(path), "config.yaml");
  const settings = {
    regions: { us: { base_url: "http://127.0.0.1:1" } },
    keys: [{ name: "research", api_key: "none" }],
    store: { path },
    http: { listen: "127.0.0.1:0" },
  };
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(settings));
  const run = (...args: readonly string[]) => runCommand([...args, "--config", config]);
  const changes = await run("changes");
  expect(changes).toMatchObject({ code: 0, out: expect.stringContaining("error") });
  expect(changes.err).toMatch(/^note: row \d+ of the table changes cannot be read; .*$/m);
  expect((await run("incidents")).err).toMatch(/row \S+ of the table incidents cannot/);
  expect((await run("notifications")).err).toContain("row 1 of the table notifications cannot");
  expect(await run("explain", world.serverIds[0] ?? "")).toMatchObject({ code: 0 });
  const range = ["--from", "2026-11-20T09:00Z", "--to", "2026-11-20T11:00Z"];
  for (const by of ["region", "server_name", "server_name,hour"]) {
    const err = expect.stringMatching(/row 1h\S* .*of the table rollups cannot be read/);
    expect(await run("report", ...range, "--by", by)).toMatchObject({ code: 0, err });
  }
});

it("a notification that cannot be read is dead-lettered with its reason, and the rest goes on", async () => {
  /** What the cut row still begins with: it must be in no output. */
  const secret = "T0PSECRET-of-a-row";
  const world = await watchWorld();
  const witness = await startWebhookPeer();
  const receivers = Object.entries({ oncall: world.peer.url, witness: witness.url }).map(
    ([name, url]) => ({ name, type: "webhook", url, secret: webhookSecret, group_wait: "0s" }),
  );
  await world.restart({ alerts: { receivers } });
  await world.poll();
  world.peer.answer(503);
  world.show(0, "error");
  await world.poll();
  const cut = `update notifications set body = '{"id":"${secret}'
    where receiver = 'oncall' and state = 'pending'`;
  await spoil(world, cut, { alerts: { receivers } });
  world.peer.answer(204);
  world.show(1, "error");
  await world.poll(2);

  const notified = world.alerts.flatMap(({ data }) => data.incidents);
  expect(notified.map((each) => each.server_id)).toEqual([world.serverIds[1]]);
  const heard = witness.alerts.map(({ type, data }) => `${data.rule} ${type}`);
  expect(heard).toContain("receiver-failing incident.firing");
  const { notifications: rows = [] } = dumpStore(world.config.store.path);
  const dead = rows.map((row) => ({ state: null, ...row })).filter(({ state }) => state === "dead");
  expect(dead).toMatchObject([{ receiver: "oncall", last_reason: "unreadable" }]);
  const text = await world.metrics();
  for (const series of [
    'sandwatch_notification_failures_total{receiver="oncall",reason="unreadable"} 1',
    'sandwatch_store_unreadable_rows{table="notifications"} 1',
    'sandwatch_notifications_dead{receiver="oncall"} 1',
  ]) {
    expect(text).toContain(series);
  }
  const { api } = world.daemon();
  const listed = await api(listNotifications, {});
  expect(listed.notifications.length).toBeGreaterThan(1);
  const [[, seq] = []] = [...unreadable(world)].filter(Array.isArray);
  await expect(api(showNotification, { id: String(seq) })).rejects.toThrow("cannot be read");
  expect(await api(discardNotifications, { seqs: [Number(seq)] })).toMatchObject({ count: 1 });
  expect(JSON.stringify([world.log, listed, text])).not.toContain(secret);
  expect(unreadable(world)).toHaveLength(1);
});
