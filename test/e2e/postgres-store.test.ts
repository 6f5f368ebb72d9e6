import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { migrations } from "../../src/store/schema.ts";
import { openPostgres, openPostgresReader } from "../../src/store/postgres/database.ts";
import { checkServer } from "../../src/store/postgres/schema-check.ts";
import { createConnector } from "../../src/store/postgres/session.ts";
import { createStore } from "../../src/store/store.ts";
import { StoreLostError } from "../../src/store/store-error.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import type { Cut } from "../support/postgres-proxy.ts";
import { startCuttingProxy } from "./support/cutting-proxy.ts";
import { until } from "./support/until.ts";
import { queryPostgres } from "../support/query-postgres.ts";

const folder = postgresFolder ?? "";
let schemas = 0;

function freshSettings() {
  return postgresSettings(folder, `engine_${process.pid}_${(schemas += 1)}`);
}

type Options = Parameters<typeof openPostgres>[1];

async function open(settings = freshSettings(), options: Options = {}) {
  const opened = await openPostgres(settings, options);
  onTestFinished(() => opened.close());
  return { ...opened, settings, store: createStore(opened.kysely, opened.close, opened) };
}

/** What anyone else does in the database. */
const execute = (statement: string) => queryPostgres(folder, statement);

const silence = (id: string, author = "ann") => ({
  id,
  match: { region: ["us"] },
  author,
  reason: "r",
  createdAtMs: 1,
  startsAtMs: 1,
  endsAtMs: 9_000,
});

async function openThroughProxy() {
  let cutAt: (part: string) => Cut = () => null;
  const proxy = await startCuttingProxy({ host: folder, port: 5432 }, (part) => cutAt(part));
  const { schema } = freshSettings();
  const url = new Secret(`postgresql://test@127.0.0.1:${proxy.port}/postgres`);
  const lost: string[] = [];
  const onLost = ({ message }: Error): void => void lost.push(message);
  const opened = await open({ url, schema, ca: null }, { onLost });
  return { ...opened, proxy, schema, lost, cut: (next: typeof cutAt) => void (cutAt = next) };
}

const idsIn = async (schema: string) =>
  (await execute(`select id from ${schema}.silences order by id`)).map(({ id }) => String(id));

describe("a session that has ended", () => {
  it.each([
    ["before", ["first"]],
    ["after", ["first", "second"]],
  ] as const)(
    "leaves what the server had committed, where it is cut %s COMMIT, and writes nothing any more",
    async (when, expected) => {
      const { store, kysely, schema, cut, lost } = await openThroughProxy();
      await store.silences.add(silence("first"));
      cut((part) => {
        if (!part.includes("commit\0")) return null;
        cut(() => null);
        return when;
      });
      const second = kysely.transaction().execute(async (trx) => {
        const { match, author, reason } = silence("second");
        await sql`insert into silences values ('second', ${JSON.stringify(match)}, ${author}, ${reason}, 1, 1, 9000, null, null)`.execute(
          trx,
        );
      });
      await expect(second).rejects.toThrow(/PostgreSQL/);
      await expect(store.silences.add(silence("third"))).rejects.toThrow(/PostgreSQL/);
      await expect(store.check()).rejects.toThrow(StoreLostError);
      await until("it is lost once", async () => lost.length === 1);
      expect(lost[0]).toContain("does not hold the lock of the store");
      await until("stored", async () => String(await idsIn(schema)) === String(expected));
    },
  );

  it("cannot write late, however it was ended", async () => {
    const { store, kysely, settings } = await open();
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const late = kysely.transaction().execute(async (trx) => {
      await sql`delete from silences`.execute(trx);
      begun.resolve();
      await ended.promise;
      await sql`delete from silences`.execute(trx);
    });
    const outcome = late.catch((error: unknown) => String(error));
    await begun.promise;
    await execute(
      `select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory'
         and pid = (select split_part(session, ' ', 1)::int from ${settings.schema}.processes)`,
    );
    const next = await openPostgres(settings);
    onTestFinished(() => next.close());
    ended.resolve();
    expect(await outcome).toMatch(/PostgreSQL/);
    await expect(store.silences.add(silence("late"))).rejects.toThrow(/PostgreSQL/);
    expect(await idsIn(settings.schema)).toEqual([]);
  });

  it("is not ended by a transaction that fails", async () => {
    const { store, kysely } = await open();
    const failing = kysely.transaction().execute(async (trx) => {
      await sql`delete from silences`.execute(trx);
      await sql`select 1 / 0`.execute(trx);
    });
    await expect(failing).rejects.toThrow("division by zero");
    const unnoticed = kysely.transaction().execute(async (trx) => {
      await sql`select 1 / 0`.execute(trx).catch(() => {});
    });
    await expect(unnoticed).rejects.toThrow("nothing of it is stored");
    await expect(sql`delete from nothing`.execute(kysely)).rejects.toThrow("does not exist");
    await store.silences.add(silence("a"));
  });
});

describe("a store on PostgreSQL", () => {
  it("is used by one process at a time, and read by others meanwhile", async () => {
    const { settings, store } = await open();
    await expect(openPostgres(settings)).rejects.toThrow(
      /is in use by another sandwatch process.*Stop that process, or set another store\.postgres\.schema/,
    );
    await store.silences.add(silence("a"));
    const { reader, close } = await openPostgresReader(settings);
    onTestFinished(close);
    const others = createStore(reader, close);
    expect((await others.suppressions.read(1)).silences).toHaveLength(1);
    await expect(others.silences.add(silence("b"))).rejects.toThrow("takes no writes");
  });

  it("is refused where it is newer, of another program, incomplete or not there", async () => {
    const refusal = async (statement: string, read = false) => {
      const settings = freshSettings();
      const { close } = await openPostgres(settings);
      await close();
      await execute(`set search_path to ${settings.schema}; ${statement}`);
      const opening = read ? openPostgresReader(settings) : openPostgres(settings);
      return opening.then(
        () => "opened",
        ({ message }: Error) => message,
      );
    };
    const newer = "update store_header set version = 99";
    expect(await refusal(newer)).toMatch(/by a newer version .* is 99; this version supports 1/);
    expect(await refusal(newer, true)).toMatch(/by a newer version/);
    expect(await refusal("drop table store_header")).toMatch(/has tables of another program/);
    expect(await refusal("drop index changes_by_time")).toMatch(/index changes_by_time is missing/);
    expect(await refusal("alter table targets drop column servers")).toMatch(
      /column targets\.servers is missing/,
    );
    expect(await refusal("alter table processes drop column lease_ms")).toMatch(
      /column processes\.lease_ms is missing/,
    );
    expect(await refusal("delete from commit_sequence")).toMatch(/must have one row/);
    const nowhere = freshSettings();
    await expect(openPostgresReader(nowhere)).rejects.toThrow(/There is no store in schema/);
    await expect(openPostgres(nowhere, { mustExist: true })).rejects.toThrow(/There is no store/);
  });

  it("is refused on a server that is too old, and in a database with another encoding", async () => {
    await execute(
      "create database ascii template template0 encoding 'SQL_ASCII' locale_provider libc locale 'C'",
    );
    onTestFinished(async () => void (await execute("drop database ascii with (force)")));
    const { url, ...others } = freshSettings();
    const inAscii = { ...others, url: new Secret(url.reveal().replace("/postgres?", "/ascii?")) };
    await expect(openPostgres(inAscii)).rejects.toThrow(
      /database ascii at .* has the encoding SQL_ASCII\. Create a database with the encoding UTF8\./,
    );

    const connector = await createConnector(freshSettings());
    const session = await connector.connect();
    onTestFinished(() => session.close());
    const check = (serverVersion: string) => {
      const stated = "current_setting('server_version_num')";
      const query = (statement: string) =>
        session.query(statement.replace(stated, `'${serverVersion}'`));
      return checkServer({ ...session, query }, connector);
    };
    await expect(check("140019")).rejects.toThrow(/has version 14; sandwatch needs 15 or later/);
    await expect(check("150000")).resolves.toBeUndefined();
  });

  it("is refused in words where the database takes no writes", async () => {
    await execute("create database quiet");
    onTestFinished(async () => void (await execute("drop database quiet with (force)")));
    await execute("alter database quiet set default_transaction_read_only = on");
    const { url, ...others } = freshSettings();
    const quiet = { ...others, url: new Secret(url.reveal().replace("/postgres?", "/quiet?")) };
    await expect(openPostgres(quiet)).rejects.toThrow(/takes no writes: default_transaction_read/);
    await execute("alter database quiet reset default_transaction_read_only");
    await (await openPostgres(quiet)).close();
  });

  it("can be queried by the role that is documented", async () => {
    const { settings } = await open();
    const operations = readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8");
    const [, grants = ""] = /```sql\n(begin;\ncreate role analyst .+?)```/s.exec(operations) ?? [];
    await execute(grants.replaceAll(/\bsandwatch\b/g, settings.schema));
    onTestFinished(async () => void (await execute("drop owned by analyst; drop role analyst")));
    await execute(`set role analyst; select * from ${settings.schema}.servers`);
    const unreadable = await execute(
      `select relname from pg_class where relnamespace = '${settings.schema}'::regnamespace
         and relkind = 'r' and not has_any_column_privilege('analyst', oid, 'select')`,
    );
    expect(unreadable).toEqual([]);
  });

  it("is migrated whole or not at all", async () => {
    const { settings, close } = await open();
    await close();
    const more = [...migrations, () => ["create table more (a bigint)", "create table more ()"]];
    await expect(openPostgres(settings, { migrations: more })).rejects.toThrow(
      /could not be brought from version 1 to 2: .*already exists\. It was not changed/,
    );
    await (await openPostgres(settings)).close();
  });

  it("keeps texts with what PostgreSQL cannot store, as escapes", async () => {
    const { store, kysely, settings } = await open();
    await store.silences.add(silence("a", "nul \0 and half \ud800"));
    await sql`update silences set reason = ${"nul \0 and half \ud800"}`.execute(kysely);
    const [row] = await execute(`select author, reason from ${settings.schema}.silences`);
    const text = String.raw`nul \u0000 and half \ud800`;
    expect(row).toEqual({ author: text, reason: text });
  });

  it("sees what others have committed, whatever the isolation of the server is by default", async () => {
    await execute("alter role test set default_transaction_isolation to 'serializable'");
    onTestFinished(async () => {
      await execute("alter role test reset default_transaction_isolation");
    });
    const { kysely } = await open();
    const { rows } =
      await sql`select current_setting('transaction_isolation') as isolation`.execute(kysely);
    expect(rows).toEqual([{ isolation: "read committed" }]);
  });

  it("is read without a failure of idle connections that are cut", async () => {
    const { store } = await open();
    await store.check();
    await execute(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sandwatch'
         and pid not in (select pid from pg_locks where locktype = 'advisory')`,
    );
    expect(await until("answers", () => store.check().then(() => true))).toBe(true);
  });
});
