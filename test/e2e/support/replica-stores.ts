import { Client } from "pg";
import { onTestFinished } from "vitest";
import { longestLeaseMs } from "../../../src/fleet/replicas.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { openPostgres } from "../../../src/store/postgres/database.ts";
import type { FencedError } from "../../../src/store/store-error.ts";
import { createStore } from "../../../src/store/store.ts";
import { postgresFolder, postgresSettings } from "../../store/support/postgres.ts";
import type { Cut } from "../../support/postgres-proxy.ts";
import { startCuttingProxy } from "./cutting-proxy.ts";

export const folder = postgresFolder ?? "";
let schemas = 0;
export const freshSettings = () =>
  postgresSettings(folder, `replicas_${process.pid}_${(schemas += 1)}`);

/** So that nothing ends by itself in a test. */
export const leaseMs = longestLeaseMs;
export const replica = {
  address: "https://one:9464",
  version: "1.0.0",
  configuration: "a",
  leaseMs,
};

/** A store as one of several replicas has it. */
export async function open(
  settings = freshSettings(),
  more: Partial<Parameters<typeof openPostgres>[1]> = {},
) {
  const fenced: FencedError[] = [];
  const cluster = { onFenced: (error: FencedError) => void fenced.push(error) };
  const opened = await openPostgres(settings, { cluster, ...more });
  const store = createStore(opened.kysely, opened.close, opened);
  onTestFinished(() => store.close());
  if (!store.cluster) throw new Error("it is not one of several");
  /** Also before it has joined. */
  const view = async () => {
    const read = await store.replicas();
    if (!read) throw new Error("it is not one of several");
    return read;
  };
  return { store, kysely: opened.kysely, cluster: store.cluster, settings, fenced, view };
}

export async function openJoined(...args: Parameters<typeof open>) {
  const opened = await open(...args);
  return { ...opened, id: await opened.cluster.join(replica) };
}

/** Its connections pass through a proxy that can cut or hold them. */
export async function openThroughProxy(more?: Parameters<typeof openJoined>[1]) {
  let cutAt: (part: string) => Cut = () => null;
  const proxy = await startCuttingProxy({ host: folder, port: 5432 }, (part) => cutAt(part));
  const { schema } = freshSettings();
  const url = new Secret(`postgresql://test@127.0.0.1:${proxy.port}/postgres`);
  const opened = await openJoined({ url, schema, ca: null }, more);
  return { ...opened, proxy, cut: (next: typeof cutAt) => void (cutAt = next) };
}

export async function openTwo() {
  const one = await openJoined();
  return { one, other: await openJoined(one.settings) };
}

/** What anyone else does in the database. */
export async function connect() {
  const client = new Client({ host: folder, user: "test", database: "postgres" });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

export async function execute(statement: string) {
  const client = new Client({ host: folder, user: "test", database: "postgres" });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** As the database's clock would do, later, or another clock after a stand-by was promoted. */
export const setLease = (
  { settings, id }: Awaited<ReturnType<typeof openJoined>>,
  remainingMs: number,
) =>
  execute(
    `update ${settings.schema}.replicas
     set expires_at_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint + ${remainingMs}
     where id = '${id}'`,
  );

export const silence = (id: string) => ({
  id,
  match: { region: ["us"] },
  author: "ann",
  reason: "r",
  createdAtMs: 1,
  startsAtMs: 1,
  endsAtMs: 9_000,
});

export const replicaIds = async ({ schema }: { readonly schema: string }) =>
  (await execute(`select id from ${schema}.replicas order by started_at_ms, id`)).map(
    ({ id }) => id,
  );

export const idsIn = async (schema: string) =>
  (await execute(`select id from ${schema}.silences order by id`)).map(({ id }) => String(id));
