import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { copyToPostgres } from "../../src/store/postgres/copy-store.ts";
import {
  examinePostgres,
  openPostgres,
  openPostgresReader,
} from "../../src/store/postgres/database.ts";
import { createStore } from "../../src/store/store.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { postgresFolder } from "../store/support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { freePort } from "./support/peer-process.ts";
import { until } from "./support/until.ts";

const program = "/usr/sbin/pgbouncer";
/** PgBouncer does not run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

async function startPooler(mode: "transaction" | "statement" | "session", servers: number) {
  const folder = tempFolder();
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
postgres = host=${postgresFolder} dbname=postgres user=test
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${servers}
`,
  );
  const pooler = spawn(program, [file], { ...nobody, stdio: "ignore" });
  onTestFinished(async () => {
    pooler.kill("SIGKILL");
    await once(pooler, "exit");
  });
  const connect = async () => {
    const client = new Client({ host: "127.0.0.1", port, user: "test", database: "postgres" });
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  await until("the pooler answers", async () => {
    const client = await connect();
    await client.end();
    return true;
  });
  const url = new Secret(`postgresql://test@127.0.0.1:${port}/postgres?sslmode=disable`);
  return { settings: { url, schema: `pooled_${process.pid}_${port}`, ca: null }, connect };
}

it.for(["transaction", "statement"] as const)(
  "a pooler that assigns each %s is refused by name, and inherits no setting (skipped without PgBouncer)",
  async (mode, { skip }) => {
    if (!existsSync(program)) return skip("PgBouncer is not installed");
    const { settings, connect } = await startPooler(mode, 5);
    const openings = [
      () => openPostgres(settings),
      () => openPostgresReader(settings),
      () => examinePostgres(settings),
      () => copyToPostgres(freshStoreFile(), settings, () => {}),
    ];
    for (const open of openings) {
      await expect(open()).rejects.toThrow(/PgBouncer .*pool_mode = session/);
    }
    const other = await connect();
    onTestFinished(() => other.end());
    const shown = await other.query(
      "select current_setting('search_path') as path, current_setting('transaction_read_only') as quiet",
    );
    expect(shown.rows).toEqual([{ path: expect.not.stringContaining("pooled"), quiet: "off" }]);
  },
);

it("a pooler that assigns sessions serves a store (skipped without PgBouncer)", async ({
  skip,
}) => {
  if (!existsSync(program)) return skip("PgBouncer is not installed");
  const { settings } = await startPooler("session", 5);
  const opened = await openPostgres(settings);
  const store = createStore(opened.kysely, opened.close, opened);
  onTestFinished(() => store.close());
  await store.tryCommit();
  await store.check();
  expect(await store.processes()).toMatchObject([{ isActive: true, isLive: true }]);
});
