import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresServer, type PostgresServer } from "../store/support/postgres-server.ts";
import { freeAddress } from "../support/free-address.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { startCuttingProxy } from "./support/cutting-proxy.ts";
import { expectEachOnce } from "./support/each-once.ts";
import { fillDisk, mountSmallDisk, prepareTrial } from "./support/trial.ts";
import type { RunningTrial } from "./support/trial.ts";
import { until } from "./support/until.ts";
import { queryPostgres } from "../support/query-postgres.ts";

async function startServer(...args: Parameters<typeof createPostgresServer>) {
  const server = createPostgresServer(...args);
  onTestFinished(() => server.remove());
  await server.start();
  return server;
}

const urlOf = ({ folder }: PostgresServer): string =>
  `postgresql://test@localhost/postgres?host=${folder}`;

const execute = ({ folder }: PostgresServer, statement: string) => queryPostgres(folder, statement);

const isReady = (daemon: RunningTrial) =>
  until("ready", async () => (await daemon.readiness()).startsWith("200"));

const isNotReady = (daemon: RunningTrial, words: RegExp) =>
  until(`not ready, with ${words}`, async () => {
    const answer = await daemon.readiness();
    return answer.startsWith("503") && words.test(answer);
  });

/** Before that is stored, they would be sent again after an outage, under the same id. */
const allDelivered = (server: PostgresServer) =>
  until("all is delivered", async () => {
    const waiting = "select from sandwatch.notifications where state <> 'delivered'";
    return (await execute(server, waiting)).length === 0;
  });

const listen = "127.0.0.1:${PORT}";
/** Each process gets a port of its own, which it keeps when it starts again. */
const ofCluster = { cluster: { address: `http://${listen}`, lease: "5s" }, http: { listen } };

type Trial = Awaited<ReturnType<typeof prepareTrial>>;

async function startAt(trial: Trial, address: string): Promise<RunningTrial> {
  const [, PORT = ""] = address.split(":");
  return trial.start((args) => startSandwatch(args, { PORT }), `http://${address}`);
}

const startAtPort = async (trial: Trial): Promise<RunningTrial> =>
  startAt(trial, await freeAddress());

it.for([
  ["alone", 1],
  ["with a standby", 2],
] as const)(
  "a disk of PostgreSQL that is full, also for its log, keeps nothing from being notified once it has space again: %s (skipped where no file system can be mounted)",
  async ([, count], { skip }) => {
    const disk = mountSmallDisk(96 * 2 ** 20);
    if (!disk) return skip("this user may not mount a file system");
    const server = await startServer(undefined, undefined, { within: disk.path });
    const servers = 500;
    const store = { postgres: { url: urlOf(server) } };
    const trial = await prepareTrial({ servers, settings: { store, ...ofCluster } });
    const daemons: RunningTrial[] = [];
    for (let index = 0; index < count; index += 1) daemons.push(await startAtPort(trial));
    const filler = join(disk.path, "filler");

    fillDisk(filler);
    trial.showAll("error");
    const [polling] = daemons;
    if (!polling) throw new Error("there is a daemon");
    expect(await polling.line("poll.failed")).toContain("No space left on device");
    await isNotReady(polling, /the store did not accept the last poll of 1 of 1 target/);
    rmSync(filler);
    await polling.line("poll.recovered");
    await isReady(polling);
    await trial.peer.received(1);
    await allDelivered(server);
    const before = trial.peer.alerts.length;

    fillDisk(filler);
    // A commit that needs another file of the log ends the server, which then cannot start again.
    await until("PostgreSQL ends itself", () =>
      execute(server, "select pg_switch_wal()").then(
        () => false,
        () => true,
      ),
    );
    await server.ended();
    trial.showAll("idle");
    for (const daemon of daemons)
      await isNotReady(daemon, /not ready: The PostgreSQL .* cannot be reached/);
    await expect(server.start()).rejects.toThrow("does not start");
    expect(trial.peer.alerts).toHaveLength(before);
    rmSync(filler);
    await server.start();
    for (const daemon of daemons) await isReady(daemon);
    await trial.peer.received(before + 1);
    for (const daemon of daemons) {
      daemon.send("SIGTERM");
      const { code, err } = await daemon.ended;
      expect([code, err]).toEqual([0, ""]);
    }
    expectEachOnce(trial.peer, servers);
  },
);

it("processes say that PostgreSQL is a stand-by when its primary has died, and resume by themselves when it is promoted", async () => {
  const primary = await startServer();
  const standBy = await startServer(undefined, undefined, { primary: primary.folder });
  await execute(primary, "alter system set synchronous_standby_names = '*'");
  await execute(primary, "select pg_reload_conf()");
  await until("the stand-by has what is committed", async () => {
    const [row] = await execute(primary, "select sync_state from pg_stat_replication");
    return row?.sync_state === "sync";
  });
  const proxy = await startCuttingProxy({ host: primary.folder, port: 5432 });
  const url = `postgresql://test@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
  const trial = await prepareTrial({ settings: { store: { postgres: { url } }, ...ofCluster } });
  const processes = [await startAtPort(trial), await startAtPort(trial)];
  trial.show(0, "error");
  await trial.peer.received(1);
  await allDelivered(primary);

  await primary.kill();
  for (const each of processes) await isNotReady(each, /cannot be reached/);
  proxy.redirect({ host: standBy.folder, port: 5432 });
  trial.show(1, "error");
  for (const each of processes) await isNotReady(each, /is a stand-by/);
  expect(trial.peer.alerts).toHaveLength(1);
  await execute(standBy, "select pg_promote()");
  for (const each of processes) await isReady(each);
  await trial.peer.received(2);
  trial.showAll("idle");
  await until("all are resolved", async () => {
    const ended = trial.peer.alerts.filter(({ type }) => type === "incident.resolved");
    return ended.flatMap(({ data }) => data.incidents).length === 2;
  });
  for (const each of processes) {
    each.send("SIGTERM");
    expect(await each.ended).toMatchObject({ code: 0, err: "" });
  }
  expectEachOnce(trial.peer, 2);
});

it("a process whose session has ended and that cannot connect is not ready, says why, and resumes by itself", async () => {
  const server = await startServer();
  const proxy = await startCuttingProxy({ host: server.folder, port: 5432 });
  const url = `postgresql://test@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
  const trial = await prepareTrial({ settings: { store: { postgres: { url } }, ...ofCluster } });
  const each = await startAtPort(trial);
  await isReady(each);
  proxy.refuse(true);
  // Only the session that writes has a lock.
  const end = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'";
  await execute(server, end);
  await isNotReady(each, /cannot be reached/);
  proxy.refuse(false);
  await isReady(each);
  each.send("SIGTERM");
  expect(await each.ended).toMatchObject({ code: 0, err: "" });
});

it("a process that starts again on a machine that was lost takes over though PostgreSQL believes the old one to be connected", async () => {
  const server = await startServer();
  const proxy = await startCuttingProxy({ host: server.folder, port: 5432 });
  const url = `postgresql://test@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
  const trial = await prepareTrial({ settings: { store: { postgres: { url } }, ...ofCluster } });
  const address = await freeAddress();
  const first = await startAt(trial, address);
  proxy.strand();
  first.send("SIGKILL");
  await first.ended;
  const expired =
    "select from sandwatch.processes where seen_at_ms + lease_ms < extract(epoch from now()) * 1000";
  await until("its lease has ended", async () => (await execute(server, expired)).length === 1);
  const holders = "select pid from pg_locks where locktype = 'advisory'";
  expect(await execute(server, holders)).toHaveLength(1);
  const again = await startAt(trial, address);
  await again.line("process.active");
});
