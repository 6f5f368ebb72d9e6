import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { listDrift } from "../../src/api/operations/drift.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  showNotification,
} from "../../src/api/operations/notifications.ts";
import { listProbes } from "../../src/api/operations/probes.ts";
import { listServers } from "../../src/api/operations/servers.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { posted } from "../notify/support/alertmanager.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { told } from "../support/heard.ts";
import { runCommand } from "../support/run-command.ts";
import { dumpStore } from "../support/store-dump.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

/** What a cut row still begins with: it must be in no output. */
const secret = "T0PSECRET-of-a-row";

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

/** Two receivers: the world's, and one that hears what becomes of that. */
async function withWitness(options: WorldOptions = {}) {
  const world = await watchWorld(options);
  const witness = await startWebhookPeer();
  const receiver = (name: string, url: string) => ({
    name,
    type: "webhook",
    url,
    secret: webhookSecret,
    group_wait: "0s",
  });
  const alerts = {
    receivers: [receiver("oncall", world.peer.url), receiver("witness", witness.url)],
  };
  await world.restart({ alerts });
  return { world, alerts, witness };
}

async function deadLetters(world: WatchedWorld) {
  const { notifications } = dumpStore(world.config.store.path);
  return notifications
    ?.map((row): object => ({ ...row }))
    .filter((row) => "state" in row && row.state === "dead");
}

describe("a pending notification that cannot be read", () => {
  it("is dead-lettered with its reason, its receiver reported, and the rest goes on", async () => {
    const { world, alerts, witness } = await withWitness();
    await world.poll();
    world.peer.answer(503);
    world.show(0, "error");
    await world.poll();
    const cut = `update notifications set body = '{"id":"${secret}'
      where receiver = 'oncall' and state = 'pending'`;
    await spoil(world, cut, { alerts });
    world.peer.answer(204);
    world.show(1, "error");
    await world.poll(2);

    const { incidents } = await world.daemon().api(listIncidents, {});
    expect(incidents.map(({ rule }) => rule).toSorted()).toContain("receiver-failing");
    expect(told(world)).toContain("server-error firing");
    expect(
      world.alerts.flatMap(({ data }) => data.incidents.map((each) => each.server_id)),
    ).toEqual([world.serverIds[1]]);
    const heard = witness.alerts.map(({ type, data }) => [type, data.rule]);
    expect(heard).toContainEqual(["incident.firing", "receiver-failing"]);
    expect(await deadLetters(world)).toMatchObject([
      { receiver: "oncall", last_reason: "unreadable", state: "dead" },
    ]);
    const text = await world.metrics();
    expect(text).toContain(
      'sandwatch_notification_failures_total{receiver="oncall",reason="unreadable"} 1',
    );
    expect(text).toContain('sandwatch_store_unreadable_rows{table="notifications"} 1');
    expect(text).toContain('sandwatch_notifications_dead{receiver="oncall"} 1');

    const { api } = world.daemon();
    const listed = await api(listNotifications, {});
    expect(listed.notifications.length).toBeGreaterThan(1);
    const [[, seq] = []] = [...unreadable(world)].filter(Array.isArray);
    expect(listed.notes).toEqual([
      `1 row is missing: the store cannot read them (notifications: ${seq})`,
    ]);
    await expect(api(showNotification, { id: String(seq) })).rejects.toThrow("cannot be read");
    expect(await api(discardNotifications, { seqs: [Number(seq)] })).toMatchObject({ count: 1 });
    expect(JSON.stringify([world.log, listed, text])).not.toContain(secret);
    expect(unreadable(world)).toHaveLength(1);
  });
});

describe("an item of the outbox that cannot be read", () => {
  it("is dead-lettered, its receiver reported, and those behind it are sent", async () => {
    const { world, alerts, witness } = await withWitness({ receiver: { group_wait: "1h" } });
    const patient = {
      receivers: alerts.receivers.map((each) => ({ ...each, group_wait: "1h" })),
    };
    await world.restart({ alerts: patient });
    world.show(0, "error");
    world.show(1, "error");
    await world.poll();
    const cut = `update outbox_items set body = '{"rule":"${secret}'
      where seq = (select min(seq) from outbox_items where receiver = 'oncall')`;
    await spoil(world, cut, { alerts });
    await world.poll(2);
    expect(world.alerts.flatMap(({ data }) => data.incidents)).toHaveLength(1);
    expect(await deadLetters(world)).toMatchObject([
      { receiver: "oncall", last_reason: "unreadable" },
    ]);
    const heard = witness.alerts.map(({ type, data }) => [type, data.rule]);
    expect(heard).toContainEqual(["incident.firing", "receiver-failing"]);
    expect(await world.metrics()).toContain('sandwatch_notifications_pending{receiver="oncall"} 0');
    expect(JSON.stringify(world.log)).not.toContain(secret);
  });
});

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
    expect(told(world)).toEqual(["server-error firing"]);
    world.show(0, "idle");
    await world.poll();
    expect(told(world)).toEqual(["server-error firing", "server-error resolved"]);
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

describe("an Alertmanager receiver", () => {
  it("is posted the alerts that can be read", async () => {
    const server = await startReceiverServer(status(200));
    const alerts = {
      receivers: [{ name: "am", type: "alertmanager", urls: [server.origin], allow_http: true }],
    };
    const world = await watchWorld({ alerts });
    world.show(0, "error");
    world.show(1, "error");
    await world.poll(2);
    await spoil(
      world,
      `update incidents set receivers = '[' where server_id = '${world.serverIds[0]}';
       update outbox_items set body = '{' where seq = 2`,
    );
    world.show(2, "error");
    await world.poll(2);
    expect(JSON.stringify(posted(server).at(-1))).toContain(world.serverIds[2]);
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
