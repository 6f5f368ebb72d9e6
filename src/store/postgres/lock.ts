import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { StoreError } from "../store-error.ts";
import { nameOf } from "./schema-check.ts";
import type { Connector, Session } from "./session.ts";

/** "swch" and "swcm": distinguish the locks of sandwatch from those of other programs in the database. */
const storeLock = 0x73776368;
const startLock = 0x7377636d;

/** A process that was killed, or is about to end, holds the lock of a store for less. */
const timeoutMs = 3_000;
/** A replica that creates the store is done sooner, unless it brings a large one to the present version. */
const startTimeoutMs = 60_000;
const retryMs = 100;

/** A positive number, so that `pg_locks` shows it as it is. */
function lockOf(schema: string): number {
  return createHash("sha256").update(schema).digest().readUInt32BE(0) >>> 1;
}

type Place = Pick<Connector, "schema" | "place">;

/**
 * Takes the lock of a store for a session: one process at a time. PostgreSQL drops it when the session ends.
 *
 * @param previousPid the session of this process before, which may not have ended yet: it is ended
 * @throws {StoreError} when another process has it
 */
export async function takeLock(
  session: Session,
  at: Place,
  previousPid: number | null,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    if (await tryLock(session, "pg_try_advisory_lock", storeLock, at)) return;
    const holder = await lockHolder(session, at.schema);
    if (holder !== null && holder === previousPid) {
      await session.query(`select pg_terminate_backend(${holder}, ${timeoutMs})`);
    }
    if (waitedMs >= timeoutMs) {
      throw new StoreError(
        `The store in ${nameOf(at)} is in use by another sandwatch process. Without \`cluster\` only one daemon may use it at a time: stop that process, or set another store.postgres.schema.`,
      );
    }
    await setTimeout(retryMs);
  }
}

/**
 * Takes the same lock as one of several replicas.
 *
 * @throws {StoreError} when a process has it that is none
 */
export async function takeSharedLock(session: Session, at: Place): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    if (await tryLock(session, "pg_try_advisory_lock_shared", storeLock, at)) return;
    if (waitedMs >= timeoutMs) {
      throw new StoreError(
        `The store in ${nameOf(at)} is in use by a sandwatch process without \`cluster\`. Stop that process, or set another store.postgres.schema.`,
      );
    }
    await setTimeout(retryMs);
  }
}

/**
 * Takes the shared lock for a replica that starts. One starts at a time, so that one of them creates the store.
 *
 * @param prepare may change the schema once it has called `exclude`, which rejects while another replica runs
 * @throws {StoreError} when a process has the lock that is no replica
 */
export async function startAlone(
  session: Session,
  at: Place,
  prepare: (exclude: () => Promise<void>) => Promise<void>,
): Promise<void> {
  // Should this process stop here, others go on without it.
  await session.query(`set idle_session_timeout to ${startTimeoutMs / 2}`);
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    if (await tryLock(session, "pg_try_advisory_lock", startLock, at)) break;
    if (waitedMs >= startTimeoutMs) {
      throw new StoreError(
        `Another replica prepares the store in ${nameOf(at)}. Start this one again when it is done.`,
      );
    }
    await setTimeout(retryMs);
  }
  await takeSharedLock(session, at);
  let isExclusive = false;
  await prepare(async () => {
    isExclusive = await tryLock(session, "pg_try_advisory_lock", storeLock, at);
    if (isExclusive) return;
    throw new StoreError(
      `The store in ${nameOf(at)} was written by an older version of sandwatch, and replicas of it run. Stop all replicas, and start those of the new version.`,
    );
  });
  for (const lock of isExclusive ? [storeLock, startLock] : [startLock]) {
    await session.query(`select pg_advisory_unlock(${lock}, ${lockOf(at.schema)})`);
  }
  await session.query("set idle_session_timeout to 0");
}

async function tryLock(
  session: Session,
  take: string,
  lock: number,
  { schema }: Place,
): Promise<boolean> {
  const { rows } = await session.query(`select ${take}(${lock}, ${lockOf(schema)}) as taken`);
  return rows[0]?.taken === true;
}

/** The process of the server whose session has the lock, or one of them. */
export async function lockHolder(session: Session, schema: string): Promise<number | null> {
  const { rows } = await session.query(
    `select pid from pg_locks where locktype = 'advisory' and granted
       and database = (select oid from pg_database where datname = current_database())
       and classid = ${storeLock} and objid = ${lockOf(schema)} and objsubid = 2`,
  );
  return rows[0]?.pid ?? null;
}
