import { readFileSync, writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresServer } from "../store/support/postgres-server.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { until } from "./support/until.ts";
import { queryPostgres } from "../support/query-postgres.ts";

/** A PostgreSQL with a database and role of the daemon's own, and the daemon's configuration. */
async function openWorld() {
  const server = createPostgresServer();
  onTestFinished(() => server.remove());
  await server.start();
  const execute = (statement: string, database = "postgres") =>
    queryPostgres({ host: server.folder, database }, statement);
  await execute("create role watcher login");
  await execute("create database watched owner watcher");
  const service = await startOneServerService("idle");
  const peer = await startWebhookPeer();
  const listen = await freeAddress();
  const hook = { name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret };
  const { config } = writeConfig({
    regions: { us: { base_url: service.baseUrl } },
    poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
    store: { postgres: { url: `postgresql://watcher@localhost/watched?host=${server.folder}` } },
    http: { listen },
    alerts: {
      rules: [{ name: "server-error", on: "server", status: "error" }],
      receivers: [{ ...hook, group_wait: "0s" }],
    },
    log: { format: "json" },
  });
  const get = async (path: string) => {
    const response = await fetch(`http://${listen}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const isReady = () => until("ready", async () => (await get("/-/ready")).status === 200);
  const isNotReady = (words: string) =>
    until(`not ready: ${words}`, async () => {
      const { status, text } = await get("/-/ready");
      return status === 503 && text.includes(words);
    });
  const endSessions = () =>
    execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'watcher'");
  const start = () => startSandwatch(["run", "--config", config]);
  return {
    server,
    service,
    peer,
    config,
    listen,
    execute,
    get,
    isReady,
    isNotReady,
    endSessions,
    start,
  };
}

it("a daemon does everything by two connections, where no more are allowed, and others are refused in words", async () => {
  const { execute, start, isReady, service, peer, get, config } = await openWorld();
  await execute("alter role watcher connection limit 2");
  const daemon = start();
  await daemon.line("daemon.started");
  await isReady();
  service.show("error");
  await peer.received(1);
  const paths = ["/", "/servers", "/incidents", "/occupancy", "/api/v1/changes", "/api/v1/status"];
  const answers = await Promise.all(paths.map((path) => get(path)));
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  expect(answers[4]?.text).toContain('"to":"error"');
  expect((await runCommand(["doctor", "--config", config])).out).toMatch(
    /allows no further connection: too many connections for role "watcher".*connection limit/s,
  );
  service.show("idle");
  await peer.received(2);
  daemon.send("SIGTERM");
  expect((await daemon.ended).code).toBe(0);
});

it("a daemon that gets one connection says what to raise, and begins by itself when that is done", async () => {
  const { execute, start, isReady, isNotReady } = await openWorld();
  await execute("alter role watcher connection limit 1");
  const daemon = start();
  expect(await daemon.line("store.not_opened")).toMatch(
    /allows no further connection: .*Raise the limit of its role/,
  );
  await isNotReady("allows no further connection");
  await execute("alter role watcher connection limit 2");
  await daemon.line("daemon.started");
  await isReady();
});

it("a daemon whose database takes no writes any more says so, and goes on when it does", async () => {
  const { execute, start, isReady, isNotReady, endSessions, service, peer } = await openWorld();
  const daemon = start();
  await isReady();
  await execute("alter database watched set default_transaction_read_only = on");
  await endSessions();
  await isNotReady("takes no writes: default_transaction_read_only is on for it");
  service.show("error");
  await execute("alter database watched reset default_transaction_read_only");
  await peer.received(1);
  await isReady();
  daemon.send("SIGTERM");
  const { code, out } = await daemon.ended;
  expect([code, out]).toEqual([0, expect.stringContaining("takes no writes")]);
  expect(peer.alerts.map(({ type }) => type)).toEqual(["incident.firing"]);
});

it("a configuration that is read while PostgreSQL is away is in use at once, and when it is back", async () => {
  const { server, config, listen, start, isReady, isNotReady } = await openWorld();
  const daemon = start();
  await isReady();
  await server.stop();
  await isNotReady("cannot be reached");
  const other = await freeAddress();
  writeFileSync(config, readFileSync(config, "utf8").replaceAll(listen, other));
  daemon.send("SIGHUP");
  const statusOf = async (path: string) => (await fetch(`http://${other}${path}`)).status;
  await until("it answers at the next address", async () => (await statusOf("/-/ready")) === 503);
  await server.start();
  await until("ready", async () => (await statusOf("/-/ready")) === 200);
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({
    code: 0,
    out: expect.not.stringContaining("config.refused"),
  });
});
