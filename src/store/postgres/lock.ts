import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { StoreError } from "../store-error.ts";
import type { Connector, Session } from "./session.ts";

/** "swch": distinguishes the locks of sandwatch from those of other programs in the database. */
const lockClass = 0x73776368;

/** A process that was killed, or is about to end, holds it for less. */
const timeoutMs = 3_000;
const retryMs = 100;

/** Both numbers are positive, so that `pg_locks` shows them as they are. */
function lockOf(schema: string): number {
  return createHash("sha256").update(schema).digest().readUInt32BE(0) >>> 1;
}

/**
 * Takes the lock of a store for a session: one process at a time. PostgreSQL drops it when the session ends.
 *
 * @param previousPid the session of this process before, which may not have ended yet: it is ended
 * @throws {StoreError} when another process has it
 */
export async function takeLock(
  session: Session,
  { schema, place }: Pick<Connector, "schema" | "place">,
  previousPid: number | null,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    const { rows } = await session.query(
      `select pg_try_advisory_lock(${lockClass}, ${lockOf(schema)}) as taken`,
    );
    if (rows[0]?.taken === true) return;
    const holder = await lockHolder(session, schema);
    if (holder !== null && holder === previousPid) {
      await session.query(`select pg_terminate_backend(${holder}, ${timeoutMs})`);
    }
    if (waitedMs >= timeoutMs) {
      throw new StoreError(
        `The store in schema ${schema} of the ${place} is in use by another sandwatch process. Only one daemon may use it at a time: stop that process, or set another store.postgres.schema.`,
      );
    }
    await setTimeout(retryMs);
  }
}

/** The process of the server whose session has the lock. */
export async function lockHolder(session: Session, schema: string): Promise<number | null> {
  const { rows } = await session.query(
    `select pid from pg_locks where locktype = 'advisory' and granted
       and database = (select oid from pg_database where datname = current_database())
       and classid = ${lockClass} and objid = ${lockOf(schema)} and objsubid = 2`,
  );
  return rows[0]?.pid ?? null;
}
