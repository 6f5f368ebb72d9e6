import { Client } from "pg";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { createMembership } from "../../src/cluster/membership.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createPostgresServer, type PostgresServer } from "../store/support/postgres-server.ts";
import { postgresSettings } from "../store/support/postgres.ts";
import { captureLog } from "../support/capture-log.ts";
import { startCuttingProxy } from "./support/cutting-proxy.ts";
import { open, silence } from "./support/replica-stores.ts";
import { shiftedClock } from "./support/shifted-clock.ts";
import { until } from "./support/until.ts";

const units = Array.from({ length: 64 }, (_, index) => `key:${index}`);
const leaseMs = 5_000;
let server: PostgresServer;
let schemas = 0;

beforeAll(async () => {
  server = createPostgresServer();
  await server.start();
});
afterAll(() => server.remove());

const freshSettings = () => postgresSettings(server.folder, `membership_${(schemas += 1)}`);

async function query(statement: string) {
  const client = new Client({ host: server.folder, user: "test", database: "postgres" });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** A replica whose wall clock is off. */
async function start(address: string, settings: ReturnType<typeof freshSettings>, offMs = 0) {
  let isFenced = (): void => {};
  let isUnwritable = (): void => {};
  let isHeld = (): boolean => false;
  const cluster = {
    onFenced: () => isFenced(),
    onUnwritable: () => isUnwritable(),
    isHeld: () => isHeld(),
    leaseMs,
  };
  const opened = await open(settings, { cluster });
  const working = new Set<string>();
  const took: number[] = [];
  const { log, lines } = captureLog("debug");
  const ownership = createMembership({
    store: opened.cluster,
    replica: { address, version: "1.0.0", configuration: "a" },
    units,
    leaseMs,
    clock: shiftedClock(offMs),
    log,
    onTakenOver: (count) => void took.push(count),
  });
  isFenced = () => ownership.fenced();
  isUnwritable = () => ownership.unwritable();
  isHeld = () => ownership.isHeld();
  onTestFinished(() => ownership.stop());
  await ownership.start({
    async gain(gained) {
      for (const unit of gained) working.add(unit);
    },
    async giveUp(released) {
      for (const unit of released) working.delete(unit);
    },
    dropAll: async () => working.clear(),
  });
  return { ...opened, ownership, working, took, lines };
}

type Started = Awaited<ReturnType<typeof start>>;

const areShared = (...replicas: readonly Started[]) =>
  until("share all units", async () => {
    const all = replicas.flatMap(({ working }) => [...working]);
    const isEachOnce = all.length === units.length && new Set(all).size === units.length;
    return isEachOnce && replicas.every(({ working }) => working.size > 0);
  });

it("replicas whose clocks are an hour apart share the units, and hand them over", async () => {
  const settings = freshSettings();
  const one = await start("https://one", settings, 3_600_000);
  await areShared(one);
  const two = await start("https://two", settings, -3_600_000);
  await areShared(one, two);
  const three = await start("https://three", settings);
  await areShared(one, two, three);
  await two.ownership.stop();
  await areShared(one, three);
  expect([one, two, three].flatMap(({ took }) => took)).toEqual([]);
});

it("a replica that is held up inside a transaction is taken over from, and writes nothing of it", async () => {
  const settings = freshSettings();
  const one = await start("https://one", settings);
  // As if it were stopped at this instant: it has joined, and renews nothing.
  const frozen = await open(settings);
  const id = await frozen.cluster.join({
    address: "https://frozen",
    version: "1.0.0",
    configuration: "a",
    leaseMs,
  });
  const goesOn = Promise.withResolvers<void>();
  onTestFinished(() => goesOn.resolve());
  const begun = Promise.withResolvers<void>();
  const committed = frozen.kysely.transaction().execute(async (trx) => {
    const { match, createdAtMs, startsAtMs, endsAtMs, ...rest } = silence("frozen");
    const times = { created_at_ms: createdAtMs, starts_at_ms: startsAtMs, ends_at_ms: endsAtMs };
    const row = { ...rest, ...times, match: JSON.stringify(match) };
    await trx.insertInto("silences").values(row).execute();
    begun.resolve();
    await goesOn.promise;
  });
  await begun.promise;
  await until("gets what the other releases", async () => {
    const { claimed } = await frozen.cluster.claim(units);
    return claimed.length > 0;
  });
  const { units: stored } = await frozen.view();
  const moved = stored.filter(({ replica }) => replica === id).length;
  const { startedAtMs } = await until("is there", async () =>
    (await one.view()).replicas.find((each) => each.id === id),
  );
  await areShared(one);
  const { nowMs } = await one.view();
  expect(one.took).toEqual([moved]);
  // The lease, and until the server has ended the transaction.
  expect(nowMs - startedAtMs).toBeGreaterThan(leaseMs - 100);
  expect(nowMs - startedAtMs).toBeLessThan(leaseMs + 6_000);
  goesOn.resolve();
  await expect(committed).rejects.toThrow(/connection|Nothing/);
  await expect(frozen.store.silences.add(silence("late"))).rejects.toThrow(/Nothing/);
  await one.store.silences.add(silence("held"));
  const ids = one.kysely.selectFrom("silences").select("id");
  expect(await ids.execute()).toEqual([{ id: "held" }]);
});

it("a replica that cannot connect to write is taken over from, and joins again when it can", async () => {
  const settings = freshSettings();
  const proxy = await startCuttingProxy({ host: server.folder, port: 5432 });
  const url = new Secret(`postgresql://test@127.0.0.1:${proxy.port}/postgres`);
  const one = await start("https://one", { ...settings, url });
  await areShared(one);
  const [writer] = await query("select pid from pg_locks where locktype = 'advisory'");
  const two = await start("https://two", settings);
  await areShared(one, two);
  proxy.refuse(true);
  await query(`select pg_terminate_backend(${writer?.pid})`);
  await until("is taken over from", async () => {
    await one.store.silences.add(silence("never")).catch(() => {});
    return one.working.size === 0 && two.working.size === units.length;
  });
  expect(String(one.ownership.failure())).toMatch(/cannot be reached/);
  proxy.refuse(false);
  await areShared(one, two);
  await one.store.silences.add(silence("a"));
});

it("replicas stop when PostgreSQL is away for longer than a lease, and share the units again after it", async () => {
  const settings = freshSettings();
  const [one, two] = [await start("https://one", settings), await start("https://two", settings)];
  await areShared(one, two);
  await server.kill();
  const endsMs = performance.now() + leaseMs;
  await until("stop", async () => one.working.size + two.working.size === 0);
  expect(performance.now()).toBeLessThan(endsMs);
  expect(one.ownership.isHeld() || two.ownership.isHeld()).toBe(false);
  await server.start();
  await areShared(one, two);
  await one.store.silences.add(silence("a"));
  const events = one.lines.map(({ event }) => event);
  for (const event of ["renewal_failed", "lease_lost", "lease_held"]) {
    expect(events).toContain(`cluster.${event}`);
  }
});

it("a short restart of PostgreSQL interrupts nothing", async () => {
  const settings = freshSettings();
  const [one, two] = [await start("https://one", settings), await start("https://two", settings)];
  await areShared(one, two);
  await server.stop();
  await server.start();
  await until("renews", async () => (one.ownership.view().leaseRemainingMs ?? 0) > 2_500);
  await until("renews", async () => (two.ownership.view().leaseRemainingMs ?? 0) > 2_500);
  await areShared(one, two);
  const events = [one, two].flatMap(({ lines }) => lines.map(({ event }) => event));
  expect(events).not.toContain("cluster.lease_lost");
});
