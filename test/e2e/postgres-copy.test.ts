import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { storableText } from "../../src/store/sql-helpers.ts";
import { createStore } from "../../src/store/store.ts";
import { openPostgres } from "../../src/store/postgres/database.ts";
import { runOn } from "../store/support/store-files.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import { storeOfVersion1 } from "../store/support/version-1.ts";
import { writeConfig } from "../support/config-file.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { dumpStore } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { until } from "./support/until.ts";
import { startCuttingProxy } from "./support/cutting-proxy.ts";
import { queryPostgres } from "../support/query-postgres.ts";

const folder = postgresFolder ?? "";
let schemas = 0;

/** A schema of its own, in which there is nothing yet. */
function newSchema() {
  const schema = `copy_${process.pid}_${(schemas += 1)}`;
  const { url } = postgresSettings(folder, schema);
  const storeAt = (address: string) => ({ store: { postgres: { url: address, schema } } });
  const { config } = writeConfig(storeAt(url.reveal()), tempFolder());
  return { schema, config, storeAt };
}

const query = (statement: string) => queryPostgres(folder, statement);

const isThere = async (schema: string): Promise<boolean> =>
  (await query(`select 1 from pg_namespace where nspname = '${schema}'`)).length > 0;

/** With rows in every table that the fixture has rows for, and texts that PostgreSQL cannot keep. */
async function fullStore(more = ""): Promise<string> {
  const path = await storeOfVersion1();
  using database = new DatabaseSync(path);
  database.prepare("update servers set server_name = ?").run("nul \0 and half \ud83d of a pair 🏖");
  database.exec(more);
  return path;
}

const copy = (path: string, to: string) => runOn(path, "store", "copy", "--to", to);

describe("store copy", () => {
  it("copies every row of every table, and new rows get numbers that no row had", async () => {
    const path = await fullStore(
      "update sqlite_sequence set seq = 4711 where name = 'outbox_items'",
    );
    const { schema, config } = newSchema();
    const ended = await copy(path, config);
    expect([ended.code, ended.err]).toEqual([0, ""]);
    for (const [table, rows] of Object.entries(dumpStore(path))) {
      if (table.startsWith("sqlite_")) continue;
      const copied = await query(`select to_jsonb(t) as row from ${schema}.${table} as t`);
      const text = (row: object): string =>
        JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));
      const expected = rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            typeof value === "string" ? storableText(value) : value,
          ]),
        ),
      );
      expect([table, copied.map(({ row }) => text(row)).toSorted()]).toEqual([
        table,
        expected.map(text).toSorted(),
      ]);
    }
    const { kysely, close } = await openPostgres(postgresSettings(folder, schema));
    onTestFinished(close);
    const item = {
      receiver: "r",
      incident_id: "i",
      subject: "s",
      type: "incident.firing",
    } as const;
    const added = await kysely
      .insertInto("outbox_items")
      .values({ ...item, body: "{}", caused_at_ms: 0 })
      .returning("seq")
      .executeTakeFirstOrThrow();
    expect(added.seq).toBe(4712);
    const { last } =
      new DatabaseSync(path).prepare("select max(id) as last from targets").get() ?? {};
    const store = createStore(kysely, close);
    await store.targets.addAll([{ region: "new", key: "new" }]);
    const id = (await store.targets.all()).find(({ target }) => target.key === "new")?.id;
    expect(id).toBe(Number(last) + 1);
  });

  it("refuses a schema with a store or with other tables, and a store that is in use", async () => {
    const path = await fullStore();
    const { schema, config } = newSchema();
    const { close } = await openPostgres(postgresSettings(folder, schema));
    expect((await copy(path, config)).err).toContain("in use by another sandwatch process");
    await close();
    expect((await copy(path, config)).err).toContain(`drop schema ${schema} cascade`);
    await query(
      `drop schema ${schema} cascade; create schema ${schema}; create table ${schema}.mine (id int)`,
    );
    expect((await copy(path, config)).err).toContain("tables of another program");
    // One that was created for it is used.
    await query(`drop table ${schema}.mine`);
    expect(await copy(path, config)).toMatchObject({ code: 0 });
  });

  it.each([
    [
      "a number greater than those that are exact",
      "update servers set since_at_ms = 9007199254740993 where id = 1",
      "servers with id 1 is damaged: its since_at_ms is out of range",
    ],
    [
      "a number that its column cannot have",
      "update servers set missing = 3000000000 where id = 1",
      'servers with id 1 is damaged: PostgreSQL: value "3000000000" is out of range for type integer',
    ],
    [
      "a row whose other row is missing",
      "pragma foreign_keys = off; insert into changes (seq, target_id, at_ms, server, from_status, to_status, was_missing, value_set) values (99999, 1, 0, 4711, 'idle', 'error', 0, 1); update commit_sequence set value = 99999",
      'changes with seq 99999 is damaged: PostgreSQL: insert or update on table "changes" violates foreign key',
    ],
  ])("names the row that cannot be copied, and copies nothing: %s", async (_, spoil, words) => {
    const { schema, config } = newSchema();
    const { code, err } = await copy(await fullStore(spoil), config);
    expect([code, err]).toEqual([1, expect.stringContaining(words)]);
    expect(await isThere(schema)).toBe(false);
  });

  it("copies nothing when what is read back differs, as with a server that rounds", async () => {
    await query(
      "create role rounding login superuser; alter role rounding set extra_float_digits = -10",
    );
    const { schema, storeAt } = newSchema();
    const url = `postgresql:///postgres?user=rounding&host=${encodeURIComponent(folder)}`;
    const { config } = writeConfig(storeAt(url), tempFolder());
    const path = await fullStore("update servers set since_observed_ms = 1234.56789012345");
    const { code, err } = await copy(path, config);
    expect([code, err]).toEqual([1, expect.stringContaining("table servers differs")]);
    expect(await isThere(schema)).toBe(false);
  });

  it("leaves no store when its connection is cut, whenever that is, and says which it is", async () => {
    const path = await fullStore();
    const { schema, storeAt } = newSchema();
    const outcomes = new Set<string>();
    for (const part of ["savepoint batch", "declare copied", "setval", "commit\0"]) {
      for (const cut of ["before", "after"] as const) {
        const proxy = await startCuttingProxy({ host: folder, port: 5432 }, (sent) =>
          sent.includes(part) ? cut : null,
        );
        const url = `postgresql://test@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
        const { config } = writeConfig(storeAt(url), tempFolder());
        const { code, err } = await copy(path, config);
        expect(code).toBe(1);
        const isDone = part === "commit\0" && cut === "after";
        expect(err).toContain(
          part === "commit\0" ? "If `sandwatch doctor` finds a store" : "Nothing was copied",
        );
        // The server may commit a moment after its client is gone.
        if (isDone) await until("the copy is there", () => isThere(schema));
        expect([part, cut, await isThere(schema)]).toEqual([part, cut, isDone]);
        outcomes.add(`${isDone}`);
      }
    }
    expect(outcomes.size).toBe(2);
  });

  it("lets a daemon continue: what was notified is not notified again, and what waits is once", async () => {
    const service = await startOneServerService("idle");
    const [oncall, backup] = [await startWebhookPeer(), await startWebhookPeer()];
    backup.answer(503);
    const hook = { type: "webhook", secret: webhookSecret, group_wait: "0s" };
    const listen = await freeAddress();
    const settings = (store: object) => ({
      regions: { us: { base_url: service.baseUrl } },
      poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
      http: { listen },
      alerts: {
        rules: [{ name: "server-error", on: "server", status: "error" }],
        receivers: [
          { ...hook, name: "oncall", url: oncall.url },
          { ...hook, name: "backup", url: backup.url },
        ],
      },
      ...store,
    });
    const path = join(tempFolder(), "store.db");
    const from = writeConfig(settings({ store: { path } }), tempFolder()).config;
    const { schema, storeAt } = newSchema();
    const { url } = postgresSettings(folder, schema);
    const to = writeConfig(settings(storeAt(url.reveal())), tempFolder()).config;
    const run = async (config: string) => {
      const daemon = startSandwatch(["run", "--config", config]);
      await daemon.line("daemon.started");
      return daemon;
    };

    const first = await run(from);
    await until("ready", async () => (await fetch(`http://${listen}/-/ready`)).ok);
    service.show("error");
    await Promise.all([oncall.received(1), backup.attempted(1)]);
    const refused = await runCommand(["store", "copy", "--config", from, "--to", to]);
    expect(refused.err).toContain("in use by another sandwatch process");
    first.send("SIGTERM");
    expect((await first.ended).code).toBe(0);

    expect(await runCommand(["store", "copy", "--config", from, "--to", to])).toMatchObject({
      code: 0,
    });
    for (const command of ["report --from 1h", "incidents", "changes", "notifications list"]) {
      const show = async (config: string) => {
        const ended = await runCommand([...command.split(" "), "--json", "--config", config]);
        // A report ends now.
        return { command, ...ended, out: ended.out.replace(/^ *"to": .*$/m, "") };
      };
      const before = await show(from);
      expect(before.code).toBe(0);
      expect(await show(to)).toEqual(before);
    }

    backup.answer(204);
    const second = await run(to);
    await backup.received(1);
    service.show("idle");
    await Promise.all([oncall.received(2), backup.received(2)]);
    second.send("SIGTERM");
    await second.ended;
    for (const peer of [oncall, backup]) {
      expect(peer.alerts.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
      expect(new Set(peer.attemptedIds).size).toBe(2);
    }
  });

  it("shows how far it is", async () => {
    const path = await fullStore();
    const clock = createFakeClock();
    const late = {
      ...clock,
      now() {
        clock.advance(11_000);
        return clock.now();
      },
    };
    const from = writeConfig({ store: { path } }, tempFolder()).config;
    const args = ["store", "copy", "--config", from, "--to", newSchema().config];
    const { err } = await runCommand(args, {}, { clock: late });
    expect(err).toMatch(/^\w+: 100 % of \d+ rows? (?:copied|verified)$/m);
  });
});
