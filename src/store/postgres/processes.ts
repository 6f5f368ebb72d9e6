import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { refuseInUse } from "./schema-check.ts";
import { isMissing, type Connector, type Session } from "./session.ts";

/** A process that runs on the store, or did. Times are by the clock of the database, in UTC milliseconds. */
export interface Process {
  /** Where its HTTP server is reached. Null: that is not configured. */
  readonly address: string | null;
  readonly version: string;
  readonly isActive: boolean;
  /** Since when it has been active, or has stood by. */
  readonly sinceMs: number;
  readonly renewedAtMs: number;
  /** Whether its lease has not ended. */
  readonly isLive: boolean;
}

const nowMs = "(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** One that was not seen for this long is not listed any more. */
const forgottenMs = 24 * 60 * 60_000;

/** Names a session for good: numbers of the server's processes are used again. */
const sessionName = "pid || ' ' || extract(epoch from backend_start)";

const sessionOf = (holder: string): string => `(select ${sessionName} from (${holder}) as holder)`;

/** Gives the processes, the active one first. */
export const processesQuery = (schema: string): string => `
  select address, version, coalesce(session = ${sessionOf(lockHolders(schema))}, false) as "isActive",
    since_at_ms as "sinceMs", seen_at_ms as "renewedAtMs", seen_at_ms + lease_ms > ${nowMs} as "isLive"
  from processes order by 3 desc, since_at_ms, id`;

export interface OwnProcess {
  readonly id: string;
  readonly address: string | null;
  readonly version: string;
  readonly leaseMs: number;
}

/** Ends at once what does not answer: others wait for a lease that is not renewed. */
const answerMs = (leaseMs: number): number => leaseMs / 2;

/**
 * Enters this process, with the session by which it writes or would. The entry of an earlier process at its address is
 * replaced when the session of that process has ended: until then it may hold the lock, and is to be ended by its lease.
 *
 * @returns whether it is entered: not where the store does not exist yet
 */
export async function enterProcess(
  session: Session,
  { id, address, version, leaseMs }: OwnProcess,
): Promise<boolean> {
  try {
    await session.query(
      `delete from processes where seen_at_ms < ${nowMs} - ${forgottenMs}
         or (address = $1 and id <> $2
           and not exists (select from pg_stat_activity where session = ${sessionName}))`,
      [address, id],
    );
    await session.query(
      `insert into processes (id, address, version, session, since_at_ms, seen_at_ms, lease_ms)
         select $1, $2, $3, ${sessionName}, ${nowMs}, ${nowMs}, $4::bigint
         from pg_stat_activity where pid = pg_backend_pid()
       on conflict (id) do update set session = excluded.session, since_at_ms = excluded.since_at_ms,
         seen_at_ms = excluded.seen_at_ms`,
      [id, address, version, leaseMs],
    );
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** @returns whether the session that was entered holds the lock; null: the process is not entered any more */
export async function renewLease(
  session: Session,
  { schema }: Pick<Connector, "schema">,
  { id, leaseMs }: OwnProcess,
): Promise<boolean | null> {
  const { rows } = await session.query(
    `update processes set seen_at_ms = ${nowMs} where id = $1
     returning coalesce(session = ${sessionOf(lockHolders(schema))}, false) as holds`,
    [id],
    answerMs(leaseMs),
  );
  return rows[0]?.holds ?? null;
}

/** How long PostgreSQL waits for a session to end. */
const endingMs = 1_000;

/**
 * Ends the session of the active process if its lease has ended, which frees the lock. Whatever that process was writing is
 * rolled back.
 */
export async function endExpired(
  session: Session,
  { schema }: Pick<Connector, "schema">,
): Promise<void> {
  await session.query(
    `select pg_terminate_backend(pid, ${endingMs}) from (${lockHolders(schema)}) as holder
     where exists (
       select from processes where session = ${sessionName}
         and (seen_at_ms + lease_ms <= ${nowMs} or seen_at_ms > ${nowMs} + lease_ms)
     )`,
  );
}

export const leaving = "delete from processes where id = $1";

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
 * Takes the lock, after a short wait for a process that is about to end.
 *
 * @param take tries to
 * @throws {StoreError} when another process has it
 */
export async function waitForLock(take: () => Promise<boolean>, at: Place): Promise<void> {
  for (let waitedMs = 0; !(await take()); waitedMs += retryMs) {
    if (waitedMs >= timeoutMs) refuseInUse(at);
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
