import { randomUUID } from "node:crypto";
import type { CompiledQuery, DatabaseConnection, Driver } from "kysely";
import { delay, type Clock } from "../../lib/clock.ts";
import { StoreError, StoreLostError } from "../store-error.ts";
import { takeLock } from "./lock.ts";
import { checkServer, nameOf, readHeader, writeOwner } from "./schema-check.ts";
import { ConnectionLostError, execute, streamQuery } from "./session.ts";
import type { Connector, Session } from "./session.ts";

/** How long a commit waits to learn whether it was stored, after its connection was lost. */
const longestDoubtMs = 20_000;
const firstRetryMs = 250;
const longestRetryMs = 10_000;

const otherWriter =
  "was written by another process. Only one daemon may use it at a time: stop the other one, or set another store.postgres.schema. This one reads what is stored before it continues.";

export interface WriterOptions {
  readonly clock: Clock;
  /** Called once with the session that holds the lock: makes the schema what this version needs. */
  readonly prepare: (session: Session) => Promise<void>;
  /** Called once when another process has written the store, or what was written is not there any more. */
  readonly onLost?: ((error: StoreLostError) => void) | undefined;
}

/**
 * The one connection that writes. Its session holds the lock of the store, and its transactions come one after the other,
 * as with SQLite. Each counts the commits of this process in the header of the store. So when the connection was lost at a
 * commit, the next one finds out whether it was stored, and nothing is written over what another process wrote.
 *
 * @throws {StoreError} when the store cannot be used
 */
export async function openWriter(
  connector: Connector,
  { clock, prepare, onLost }: WriterOptions,
): Promise<{ readonly driver: Driver; readonly check: () => void }> {
  const owner = randomUUID();
  const closing = new AbortController();
  /** As far as it is known. */
  let commits = 0;
  /** A commit whose outcome is not known. Rejected: its caller took it for failed. */
  let doubt: "waiting" | "rejected" | null = null;
  let lost: StoreLostError | null = null;
  let failure: { error: unknown; retryMs: number; retryAtMs: number } | null = null;
  const nowMs = (): number => clock.now().monotonicMs;

  let session = await connector.connect();
  try {
    await checkServer(session, connector);
    await takeLock(session, connector, null);
    await prepare(session);
    commits = await writeOwner(session, owner);
  } catch (error) {
    await session.close();
    throw error;
  }

  const lose = (why: string): StoreLostError => {
    lost = new StoreLostError(`The store in ${nameOf(connector)} ${why}`);
    void session.close();
    onLost?.(lost);
    return lost;
  };

  const reconnect = async (): Promise<Session> => {
    const next = await connector.connect();
    try {
      await takeLock(next, connector, session.pid);
      await checkServer(next, connector);
      const header = await readHeader(next);
      if (header?.owner !== owner) throw lose(otherWriter);
      const more = header.commits - commits;
      if (more === 1 && doubt === "rejected") {
        throw lose(
          "has a commit whose connection was lost and that was taken for failed. This daemon reads what is stored before it continues.",
        );
      }
      if (more !== 0 && !(more === 1 && doubt === "waiting")) {
        throw lose(
          "is not as this daemon wrote it, as after a fail-over or a restored backup. It reads what is stored before it continues.",
        );
      }
      ({ commits } = header);
      doubt = null;
      return next;
    } catch (error) {
      await next.close();
      throw error;
    }
  };

  const connected = async (): Promise<Session> => {
    if (lost) throw lost;
    if (session.isOpen()) return session;
    if (failure && nowMs() < failure.retryAtMs) throw failure.error;
    try {
      session = await reconnect();
      failure = null;
      return session;
    } catch (error) {
      const retryMs = failure ? Math.min(longestRetryMs, 2 * failure.retryMs) : firstRetryMs;
      failure = { error, retryMs, retryAtMs: nowMs() + retryMs };
      throw error;
    }
  };

  const begin = async (): Promise<void> => {
    const statements = `begin; update store_header set commits = ${commits + 1} where owner = '${owner}' and commits = ${commits}`;
    try {
      const results = await session.queryAll(statements);
      if (results.at(-1)?.rowCount !== 1) throw lose(otherWriter);
    } catch (error) {
      await rollback();
      throw error;
    }
  };

  const commit = async (): Promise<void> => {
    try {
      const { command } = await session.query("commit");
      // PostgreSQL says so where a statement of the transaction failed before.
      if (command === "ROLLBACK") throw new StoreError("PostgreSQL rolled the transaction back.");
      commits += 1;
    } catch (error) {
      if (!(error instanceof ConnectionLostError)) throw error;
      await settle(error);
    }
  };

  /** Waits until it is known whether a commit was stored. Rejects when it was not, or that is not known soon enough. */
  const settle = async (cause: ConnectionLostError): Promise<void> => {
    const before = commits;
    const deadlineMs = nowMs() + longestDoubtMs;
    doubt = "waiting";
    while (doubt === "waiting") {
      const isConnected = await connected().then(
        () => true,
        () => false,
      );
      if (isConnected) break;
      if (lost) throw lost;
      if (closing.signal.aborted || nowMs() >= deadlineMs) doubt = "rejected";
      else await delay(clock, (failure?.retryAtMs ?? 0) - nowMs(), closing.signal);
    }
    if (commits === before) throw cause;
  };

  const rollback = async (): Promise<void> => {
    // A lost connection has rolled back already, and the error of a second time would hide the cause.
    if (session.isOpen()) await session.query("rollback").catch(() => session.close());
  };

  let isInTransaction = false;
  const connection: DatabaseConnection = {
    async executeQuery<Row>(query: CompiledQuery) {
      if (isInTransaction || /^\s*select\b/i.test(query.sql)) return execute<Row>(session, query);
      await begin();
      try {
        const result = await execute<Row>(session, query);
        await commit();
        return result;
      } catch (error) {
        await rollback();
        throw error;
      }
    },
    streamQuery,
  };

  let last = Promise.resolve();
  let release = (): void => {};
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      const before = last;
      const ended = Promise.withResolvers<void>();
      last = ended.promise;
      await before;
      try {
        await connected();
      } catch (error) {
        ended.resolve();
        throw error;
      }
      release = ended.resolve;
      return connection;
    },
    async beginTransaction() {
      await begin();
      isInTransaction = true;
    },
    commitTransaction: () => {
      isInTransaction = false;
      return commit();
    },
    rollbackTransaction: () => {
      isInTransaction = false;
      return rollback();
    },
    async releaseConnection() {
      release();
    },
    async destroy() {
      closing.abort();
      await last;
      await session.close();
    },
  };
  return {
    driver,
    check() {
      if (lost) throw lost;
      if (failure) throw failure.error;
    },
  };
}
