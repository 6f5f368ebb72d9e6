import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPostgresServer, type PostgresServer } from "../store/support/postgres-server.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { ca } from "../support/private-ca.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { cert } from "../support/self-signed.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { expectEachOnce } from "./support/each-once.ts";
import { until } from "./support/until.ts";
import { queryPostgres } from "../support/query-postgres.ts";

const password = "pa55/w@rd-T0PSECRET";
let server: PostgresServer;
let port: number;
let schemas = 0;

beforeAll(async () => {
  port = Number((await freeAddress()).split(":")[1]);
  server = createPostgresServer(port);
  await server.start();
  await execute(`create role watcher login password '${password}'`);
  await execute("create database history owner watcher");
});

afterAll(() => server.remove());

const execute = (statement: string, database = "postgres") =>
  queryPostgres({ host: server.folder, port, database }, statement);

const urlAt = (atPort: number, query = "?sslmode=require", given = password): string =>
  `postgresql://watcher:${encodeURIComponent(given)}@127.0.0.1:${atPort}/history${query}`;

/** The service with its one server, a receiver, and the daemon's configuration. */
async function openWorld(url = urlAt(port), more: object = {}) {
  const service = await startOneServerService("idle");
  const peer = await startWebhookPeer();
  const schema = `watch_${(schemas += 1)}`;
  const folder = tempFolder();
  writeFileSync(join(folder, "url"), `${url}\n`);
  const postgres = { url_file: "url", schema, ...more };
  const hook = { name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret };
  const listen = await freeAddress();
  const { config } = writeConfig(
    {
      regions: { us: { base_url: service.baseUrl } },
      poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
      store: { postgres },
      http: { listen },
      alerts: {
        rules: [{ name: "server-error", on: "server", status: "error" }],
        receivers: [{ ...hook, group_wait: "0s" }],
      },
    },
    folder,
  );
  const start = async () => {
    const daemon = startSandwatch(["run", "--config", config]);
    await daemon.line("daemon.started");
    return daemon;
  };
  const ready = async (): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(`http://${listen}/-/ready`);
    return { status: response.status, text: await response.text() };
  };
  const run = async (...args: readonly string[]) => {
    const ended = await runCommand([...args, "--config", config]);
    expect(ended.out + ended.err).not.toContain("T0PSECRET");
    return ended;
  };
  return { service, peer, schema, config, listen, start, ready, run };
}

type World = Awaited<ReturnType<typeof openWorld>>;

const isReady = ({ ready }: World) => until("ready", async () => (await ready()).status === 200);

describe("a daemon on PostgreSQL", () => {
  it("polls, notifies, continues after a restart, and answers commands without a daemon", async () => {
    const world = await openWorld();
    const { service, peer, schema, start, run } = world;
    const first = await start();
    await isReady(world);
    service.show("error");
    await peer.received(1);
    // Before that it would be sent again after the restart, under the same id.
    const delivered = `select 1 from ${schema}.notifications where state = 'delivered'`;
    await until("stored", async () => (await execute(delivered, "history")).length === 1);
    first.send("SIGKILL");
    await first.ended;

    for (const command of ["status", "incidents", "targets", "servers", "changes", "silence list"])
      expect(await run(...command.split(" "))).toMatchObject({ code: 0, err: "" });
    expect((await run("incidents")).out).toContain("server-error");
    expect(await run("report", "--from", "1h")).toMatchObject({ code: 0 });
    expect(await run("insights")).toMatchObject({ code: 0 });
    const [{ id }] = JSON.parse((await run("incidents", "--json")).out).incidents;
    const refused = await run("ack", id, "--author", "ann");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("a running daemon") });

    const second = await start();
    expect(await run("ack", id, "--author", "ann")).toMatchObject({ code: 0 });
    expect((await run("incidents")).out).toContain("ann");
    service.show("idle");
    await peer.received(2);
    second.send("SIGTERM");
    const { code, out, err } = await second.ended;
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toContain("T0PSECRET");
    expectEachOnce(world.peer, 1);
  });

  it("is shown by doctor", async () => {
    const { start, run } = await openWorld();
    const daemon = await start();
    expect((await run("doctor")).out).toContain("a daemon or command uses it");
    daemon.send("SIGTERM");
    await daemon.ended;
    expect((await run("doctor")).out).not.toContain("a daemon or command uses it");
  });

  it("waits for a PostgreSQL that is away when it starts", async () => {
    const world = await openWorld();
    await server.stop();
    const daemon = startSandwatch(["run", "--config", world.config]);
    const line = await daemon.line("store.not_opened");
    expect(line).toContain("it is retried every second");
    await server.start();
    await daemon.line("daemon.started");
    await isReady(world);
    daemon.send("SIGTERM");
    await daemon.ended;
    await server.stop();
    const other = startSandwatch(["run", "--config", world.config]);
    await other.line("store.not_opened");
    other.send("SIGTERM");
    expect((await other.ended).code).toBe(0);
    await server.start();
  });
});

describe("what cannot be used", () => {
  it.each([
    [
      "a wrong password",
      () => urlAt(port, "?sslmode=require", "wr0ng-T0PSECRET"),
      1,
      "password authentication failed",
    ],
    [
      "a server without a trusted certificate",
      () => urlAt(port, "?sslmode=verify-full"),
      1,
      "self-signed certificate",
    ],
    ["another protocol", () => "mysql://u:T0PSECRET@h/d", 2, "allowed: postgresql://"],
    ["an unknown parameter", () => urlAt(port, "?sslmode=prefer"), 2, "sslmode (disable, require,"],
  ])("is refused in words without secrets: %s", async (_, url, code, words) => {
    const { run } = await openWorld(url());
    for (const command of code === 2 ? ["run", "check-config"] : ["run", "incidents", "doctor"]) {
      const ended = await run(command);
      expect(ended.out + ended.err).toContain(words);
      expect(ended.code).toBe(code);
    }
  });

  it("is no server whose certificate is from the authority that is named", async () => {
    const file = join(tempFolder(), "ca.pem");
    writeFileSync(file, cert);
    const { run } = await openWorld(urlAt(port, "?sslmode=verify-full"), { ca_file: file });
    const { out } = await run("doctor");
    const place = `PostgreSQL database history at 127.0.0.1:${port}`;
    expect(out).toMatch(new RegExp(`the ${place} answers: version .*, with TLS`));
    expect(out).toMatch(/note +There is no store in schema watch_/);
    const missing = await openWorld(urlAt(port), { ca_file: "none.pem" });
    expect(await missing.run("check-config")).toMatchObject({
      code: 2,
      err: expect.stringContaining("store.postgres.ca_file: found a file that cannot be used"),
    });
  });

  it("is a server of another authority than those that are named, also with sslmode=require", async () => {
    const [own, other] = [cert, ca].map((authority) => {
      const file = join(tempFolder(), "ca.pem");
      writeFileSync(file, authority);
      return file;
    });
    const query = (file = "") => `?sslmode=require&sslrootcert=${encodeURIComponent(file)}`;
    const trusted = await openWorld(urlAt(port, query(own)));
    const { out: trustedOut } = await trusted.run("doctor");
    expect(trustedOut).toMatch(new RegExp(`at 127.0.0.1:${port} answers: version .*, with TLS`));
    for (const { run } of [
      await openWorld(urlAt(port, query(other))),
      await openWorld(urlAt(port), { ca_file: other }),
    ]) {
      const { code, out } = await run("doctor");
      expect([code, out]).toEqual([1, expect.stringContaining("self-signed certificate")]);
    }
  });

  it("are the commands for files, which say what to use instead", async () => {
    const { run } = await openWorld();
    const file = join(tempFolder(), "backup");
    for (const [command, words] of [
      [["backup", file], "pg_dump --format custom --schema watch_"],
      [["restore", file], "pg_restore"],
      [["store", "check"], "pg_amcheck"],
    ] as const) {
      const { code, err } = await run(...command);
      expect([code, err]).toEqual([1, expect.stringContaining(words)]);
    }
  });
});
