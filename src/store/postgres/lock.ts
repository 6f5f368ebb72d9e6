import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { StoreError } from "../store-error.ts";
import { nameOf } from "./schema-check.ts";
import type { Connector, Session } from "./session.ts";

/** "swch": distinguishes the locks of sandwatch from those of other programs in the database. */
const storeLock = 0x73776368;

/** A process that was killed, or is about to end, holds the lock of a store for less. */
const timeoutMs = 3_000;
const retryMs = 100;

/** A positive number, so that `pg_locks` shows it as it is. */
function lockOf(schema: string): number {
  return createHash("sha256").update(schema).digest().readUInt32BE(0) >>> 1;
}

type Place = Pick<Connector, "schema" | "place">;

/** Takes the lock of a store for a session, if no other session holds it. PostgreSQL drops it when the session ends. */
export async function tryLock(session: Session, { schema }: Place): Promise<boolean> {
  const { rows } = await session.query(
    `select pg_try_advisory_lock(${storeLock}, ${lockOf(schema)}) as taken`,
  );
  return rows[0]?.taken === true;
}

/**
 * The same, after a short wait for a process that is about to end.
 *
 * @throws {StoreError} when another process has it
 */
export async function takeLock(session: Session, at: Place): Promise<void> {
  for (let waitedMs = 0; !(await tryLock(session, at)); waitedMs += retryMs) {
    if (waitedMs >= timeoutMs) {
      throw new StoreError(
        `The store in ${nameOf(at)} is in use by another sandwatch process. Stop that process, or set another store.postgres.schema.`,
      );
    }
    await setTimeout(retryMs);
  }
}

/** The number of the server's process and the start of each session that holds the lock: one, or none. */
export const lockHolders = (schema: string): string => `
  select pid, backend_start from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted
    and database = (select oid from pg_database where datname = current_database())
    and classid = ${storeLock} and objid = ${lockOf(schema)} and objsubid = 2`;

/** The number of the server's process whose session has the lock. */
export async function lockHolder(session: Session, schema: string): Promise<number | null> {
  const { rows } = await session.query(lockHolders(schema));
  return rows[0]?.pid ?? null;
}
