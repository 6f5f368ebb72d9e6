import { lockHolders } from "./lock.ts";
import { PostgresError, type Connector, type Session } from "./session.ts";

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
    if (error instanceof PostgresError && /^(?:42P01|42703|3F000)$/.test(error.code)) return false;
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
