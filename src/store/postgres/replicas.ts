import { randomUUID } from "node:crypto";
import { longestLeaseMs, type ClusterView, type Replica } from "../../fleet/replicas.ts";
import { Secret } from "../../lib/secret.ts";
import { StoreUnavailableError } from "../store-error.ts";
import { migrations, type Migration } from "../migrations.ts";
import { checkVersion } from "./schema-check.ts";
import { noticeChannel, writingOneOfSeveral, type Connector, type Session } from "./session.ts";
import type { Writer } from "./writer.ts";

/**
 * What replicas notify one another of: "units", "outbox", "suppressions", "region <name>", and others. "everything": notices
 * may have been missed.
 */
export type Topic = string;

/**
 * What replicas share in the store beside what they watch. The edges do not import `src/cluster`, so this repeats the members
 * of its `ReplicaStore` (`src/cluster/replica-store.ts`), which has their contracts. The compiler compares the two.
 */
export interface ReplicaStore {
  join(
    replica: Pick<Replica, "address" | "version" | "configuration"> & { readonly leaseMs: number },
  ): Promise<string>;
  renew(leaseMs: number): Promise<ClusterView | null>;
  claim(
    units: readonly string[],
  ): Promise<{ readonly claimed: readonly string[]; readonly takenOver: readonly string[] }>;
  release(units: readonly string[]): Promise<void>;
  takeUnits(takes: boolean): Promise<void>;
  leave(): Promise<void>;
  /** With it replicas prove to one another that they share this store. */
  token(): Promise<Secret>;
  onNotice(listener: (topic: Topic) => void): void;
  notice(topic: Topic): Promise<void>;
  interrupt(): void;
}

const nowMs = "(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** Gives a `ClusterView`. */
export const clusterQuery = `
  select ${nowMs} as "nowMs",
    (select coalesce(json_agg(json_build_object(
       'id', id, 'address', address, 'version', version, 'configuration', configuration,
       'generation', generation, 'takesUnits', takes_units, 'startedAtMs', started_at_ms,
       'expiresAtMs', expires_at_ms
     ) order by started_at_ms, id), '[]') from replicas) as replicas,
    (select coalesce(json_agg(json_build_object(
       'name', name, 'replica', replica, 'sinceMs', since_at_ms
     ) order by name), '[]') from replica_units) as units`;

/** What a statement that does not wait for locks may take: much less than a lease. */
const answerMs = 4_000;

/**
 * It has sessions of its own, so that neither what is written nor a claim that waits delays the renewal of the lease.
 * Those are made again by themselves.
 */
export function createReplicaStore(
  connector: Connector,
  writer: Pick<Writer, "writeAs">,
  interrupt: () => void,
  known: readonly Migration[] = migrations,
): ReplicaStore & { close(): Promise<void> } {
  /** Of this process; null: it has not joined. */
  let id: string | null = null;
  const listeners: ((topic: Topic) => void)[] = [];
  const emit = (topic: Topic): void => listeners.forEach((listener) => listener(topic));

  const ofStore = `${connector.schema} `;

  const heartbeats = createReconnecting((onEnd) =>
    connector.connect(`listen ${noticeChannel}`, {
      onEnd,
      onNotice(payload) {
        if (payload.startsWith(ofStore)) emit(payload.slice(ofStore.length));
      },
    }),
  );
  heartbeats.onReconnect(() => emit("everything"));
  const changes = createReconnecting(() => connector.connect("", writingOneOfSeveral));

  const interruptAll = (): void => {
    interrupt();
    changes.abort();
  };

  const ask = async (statement: string, values?: readonly unknown[]) => {
    const session = await heartbeats.session();
    try {
      return await session.query(statement, values, answerMs);
    } catch (error) {
      // The other sessions most likely lead nowhere either, and would wait much longer.
      if (!session.isOpen()) interruptAll();
      throw error;
    }
  };

  const runChange = async <Result>(run: (session: Session) => Promise<Result>): Promise<Result> => {
    const session = await changes.session();
    try {
      const lock = "begin; select version from store_header for update";
      const began = await session.queryAll(lock);
      // Only the session of the writer keeps a new version from changing the schema, and it may have been lost.
      checkVersion(began.at(-1)?.rows[0].version, connector, known);
      const result = await run(session);
      await session.query("commit");
      return result;
    } catch (error) {
      if (session.isOpen()) await session.query("rollback").catch(() => session.close());
      throw error;
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  /** Changes of all replicas come one after the other: each sees what those before it have done. */
  const change = <Result>(run: (session: Session) => Promise<Result>): Promise<Result> => {
    const running = last.then(() => runChange(run));
    last = running.catch(() => {});
    return running;
  };

  const remove = async (session: Session, replica: string): Promise<void> => {
    await session.query("delete from replica_units where replica = $1", [replica]);
    await session.query("delete from replicas where id = $1", [replica]);
    await session.query("delete from replica_commits where id = $1", [replica]);
  };

  return {
    async join({ address, version, configuration, leaseMs }) {
      // Listens before others know that it is there.
      await heartbeats.session();
      const joined = randomUUID();
      const previous = id;
      const register = async (session: Session): Promise<void> => {
        if (previous !== null) await remove(session, previous);
        await session.query(
          `insert into configurations
             select $1, coalesce(max(generation), 0) + 1 from configurations
           on conflict (digest) do nothing`,
          [configuration],
        );
        await session.query("insert into replica_commits values ($1, 0)", [joined]);
        await session.query(
          `insert into replicas
             select $1, $2, $3, digest, generation,
               generation = (select max(generation) from configurations), ${nowMs}, ${nowMs} + $5::bigint
             from configurations where digest = $4`,
          [joined, address, version, configuration, leaseMs],
        );
      };
      // A replica that cannot write would own units for which it can do nothing.
      await writer.writeAs(joined, () => change(register));
      return (id = joined);
    },
    async renew(leaseMs) {
      const { rowCount } = await ask(
        `update replicas set expires_at_ms = ${nowMs} + $2::bigint
         where id = $1 and expires_at_ms > ${nowMs} and (select version from store_header) = $3`,
        [id, leaseMs, known.length],
      );
      return rowCount === 1 ? (await ask(clusterQuery)).rows[0] : null;
    },
    claim: (units) =>
      change(async (session) => {
        await session.query(
          `delete from replicas
           where expires_at_ms <= ${nowMs} or expires_at_ms > ${nowMs} + $1::bigint`,
          [longestLeaseMs],
        );
        // Waits until a transaction of theirs ends, so that what it commits is read by who takes over.
        await session.query(
          "delete from replica_commits where id not in (select id from replicas)",
        );
        const { rows } = await session.query(
          `with stale as (
             select name from replica_units where replica not in (select id from replicas)
           ), claimed as (
             insert into replica_units
             select name, $1, ${nowMs} from unnest($2::text[]) as name
             where (select generation from replicas where id = $1 and takes_units)
               = (select max(generation) from replicas where takes_units)
             on conflict (name) do update set replica = excluded.replica, since_at_ms = excluded.since_at_ms
             where replica_units.replica = $1 or replica_units.replica not in (select id from replicas)
             returning name
           )
           select name, name in (select name from stale) as taken_over from claimed order by name`,
          [id, units],
        );
        return {
          claimed: rows.map(({ name }) => String(name)),
          takenOver: rows.flatMap((row) => (row.taken_over === true ? [String(row.name)] : [])),
        };
      }),
    release: (units) =>
      change(async (session) => {
        await session.query(
          "delete from replica_units where replica = $1 and name = any($2::text[])",
          [id, units],
        );
      }),
    async takeUnits(takes) {
      await ask("update replicas set takes_units = $2 where id = $1", [id, takes]);
    },
    async leave() {
      const left = id;
      if (left === null) return;
      await change((session) => remove(session, left));
      id = null;
    },
    async token() {
      const { rows } = await ask("select replica_token from store_header");
      return new Secret(String(rows[0]?.replica_token));
    },
    onNotice: (listener) => void listeners.push(listener),
    async notice(topic) {
      await ask("select pg_notify($1, $2)", [noticeChannel, `${ofStore}${topic}`]);
    },
    interrupt: interruptAll,
    async close() {
      await Promise.all([heartbeats.close(), changes.close()]);
    },
  };
}

/** A session that is opened when it is first needed. Once lost it is opened again, at once or when it is needed next. */
function createReconnecting(connect: (onEnd: () => void) => Promise<Session>) {
  let opening: Promise<Session> | null = null;
  let current: Session | null = null;
  let isClosed = false;
  let onReconnect = (): void => {};

  const open = async (): Promise<Session> => {
    let opened: Session | null = null;
    try {
      opened = await connect(() => {
        if (opened !== null && opened === current && !isClosed) session().catch(() => {});
      });
      const isFirst = current === null;
      current = opened;
      if (!isFirst) onReconnect();
      return opened;
    } finally {
      opening = null;
    }
  };
  const session = async (): Promise<Session> => {
    if (isClosed) throw new StoreUnavailableError("The store is closed.");
    return current?.isOpen() === true ? current : (opening ??= open());
  };
  return {
    session,
    onReconnect: (listener: () => void) => void (onReconnect = listener),
    /** What waits for an answer fails. */
    abort: () => current?.abort(),
    async close() {
      isClosed = true;
      await opening?.catch(() => {});
      await current?.close();
    },
  };
}
