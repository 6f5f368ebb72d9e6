import { randomUUID } from "node:crypto";
import type { CompiledQuery, DatabaseConnection, Driver } from "kysely";
import { delay, type Clock } from "../../lib/clock.ts";
import { FencedError, StoreError, StoreLostError, StoreUnavailableError } from "../store-error.ts";
import { startAlone, takeLock, takeSharedLock } from "./lock.ts";
import {
  checkServer,
  checkVersion,
  nameOf,
  prepareSchema,
  type SchemaOptions,
} from "./schema-check.ts";
import { ConnectionLostError, execute, streamQuery, writingOneOfSeveral } from "./session.ts";
import type { Connector, Session } from "./session.ts";

/** How long a commit waits to learn whether it was stored, after its connection was lost. */
const longestDoubtMs = 20_000;
const firstRetryMs = 250;
const longestRetryMs = 10_000;

const otherWriter =
  "was written by another process. Only one daemon may use it at a time: stop the other one, or set another store.postgres.schema. This one reads what is stored before it continues.";

const fencedText =
  "Nothing was written: the lease of this replica had ended, or a commit of it had an unknown outcome. It reads what is stored before it continues.";

export interface WriterOptions {
  readonly clock: Clock;
  readonly schema: SchemaOptions;
  /** Called once when another process has written the store, or what was written is not there any more. */
  readonly onLost?: ((error: StoreLostError) => void) | undefined;
  /** Undefined: this process is the only one. */
  readonly cluster?: ClusterOptions | undefined;
}

/** What several replicas need of a store that they share. */
export interface ClusterOptions {
  /** Whether this replica may act. No transaction begins otherwise. */
  readonly isHeld?: () => boolean;
  /** Called once each time after it had joined. Nothing is written any more until it joins again. */
  readonly onFenced?: (error: FencedError) => void;
  readonly leaseMs?: number;
  /** Called when for as long as a lease all that was to be written had no connection, while the lease is held. */
  readonly onUnwritable?: () => void;
}

/** The one connection of this process that writes. */
export interface Writer {
  readonly driver: Driver;
  /** @throws what keeps it from writing */
  check(): void;
  /**
   * Once it is connected, calls `join`, and then writes as the replica that has joined; what waits to be written as another
   * one is fenced.
   */
  writeAs(id: string, join: () => Promise<void>): Promise<void>;
  /** What is being written fails at once. */
  abort(): void;
}

/**
 * Its session holds the lock of the store, which replicas share, and its transactions come one after the other, as with
 * SQLite. Each counts the commits of this process, in a row of its own. So when the connection was lost at a commit, the
 * next one finds out whether it was stored, and nothing is written once another process has deleted the row.
 *
 * @throws {StoreError} when the store cannot be used
 */
export async function openWriter(
  connector: Connector,
  { clock, schema, onLost, cluster }: WriterOptions,
): Promise<Writer> {
  let owner: string = randomUUID();
  const closing = new AbortController();
  /** As far as it is known. */
  let commits = 0;
  /** A commit whose outcome is not known. Rejected: its caller took it for failed. */
  let doubt: "waiting" | "rejected" | null = null;
  let lost: StoreLostError | FencedError | null = null;
  let failure: { error: unknown; retryMs: number; retryAtMs: number } | null = null;
  /** Since when everything has failed for want of a connection. Null: the last use of it ended with one. */
  let unwritableSinceMs: number | null = null;
  const nowMs = (): number => clock.now().monotonicMs;
  const isHeld = (): boolean => cluster?.isHeld?.() ?? true;

  const connect = () => connector.connect("", cluster && writingOneOfSeveral);
  let session = await connect();
  try {
    await checkServer(session, connector);
    if (cluster) {
      await startAlone(session, connector, (onMigration) =>
        prepareSchema(session, connector, { ...schema, onMigration }),
      );
      lost = new FencedError("This replica has not joined the others.");
    } else {
      await takeLock(session, connector, null);
      await prepareSchema(session, connector, schema);
      // Sent together, they are one transaction.
      await session.queryAll(
        `delete from replica_units; delete from replicas; delete from replica_commits;
         insert into replica_commits values ('${owner}', 0)`,
      );
    }
  } catch (error) {
    await session.close();
    throw error;
  }

  const lose = (why: string): StoreLostError | FencedError => {
    if (cluster) {
      const fenced = new FencedError(fencedText);
      lost = fenced;
      cluster.onFenced?.(fenced);
      return fenced;
    }
    const error = new StoreLostError(`The store in ${nameOf(connector)} ${why}`);
    lost = error;
    void session.close();
    onLost?.(error);
    return error;
  };

  /** @param check further checks of a session that has the lock */
  const connectAgain = async (check?: (next: Session) => Promise<void>): Promise<Session> => {
    const next = await connect();
    try {
      if (cluster) await takeSharedLock(next, connector);
      else await takeLock(next, connector, session.pid);
      await checkServer(next, connector);
      await check?.(next);
      return next;
    } catch (error) {
      await next.close();
      throw error;
    }
  };

  const reconnect = (): Promise<Session> =>
    connectAgain(async (next) => {
      // Waits for a commit that the server still carries out.
      const stored = `select commits, (select version from store_header) as version
        from replica_commits where id = $1 for update`;
      const [row] = (await next.query(stored, [owner])).rows;
      if (!row) throw lose(otherWriter);
      // While there was no session, no lock kept a new version from changing the schema.
      checkVersion(row.version, connector, schema.known);
      const more = row.commits - commits;
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
      ({ commits } = row);
      doubt = null;
    });

  /** @param sinceMs when what has just failed or succeeded began */
  const reviewConnection = (sinceMs: number): void => {
    if (session.isOpen()) return void (unwritableSinceMs = null);
    unwritableSinceMs ??= sinceMs;
    const isLong = cluster?.leaseMs !== undefined && nowMs() - unwritableSinceMs >= cluster.leaseMs;
    if (isLong && isHeld()) cluster.onUnwritable?.();
  };

  const connected = async (): Promise<Session> => {
    if (lost) throw lost;
    if (session.isOpen()) return session;
    if (failure && nowMs() < failure.retryAtMs) throw failure.error;
    const sinceMs = nowMs();
    try {
      session = await reconnect();
      failure = null;
      return session;
    } catch (error) {
      if (error instanceof FencedError) throw error;
      const retryMs = failure ? Math.min(longestRetryMs, 2 * failure.retryMs) : firstRetryMs;
      failure = { error, retryMs, retryAtMs: nowMs() + retryMs };
      reviewConnection(sinceMs);
      throw error;
    }
  };

  const begin = async (): Promise<void> => {
    if (!isHeld()) {
      throw new StoreUnavailableError(
        "Nothing is written: the lease of this replica has ended, and others may have taken over its work. It joins again by itself; until then /-/ready says why it has not.",
      );
    }
    const statements = `begin; update replica_commits set commits = ${commits + 1} where id = '${owner}' and commits = ${commits}`;
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
      if (command === "ROLLBACK") {
        throw new StoreError(
          "PostgreSQL rolled the transaction back, and nothing of it is stored. Polls and deliveries are repeated by themselves; repeat a command. The log of PostgreSQL has the cause.",
        );
      }
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
      // Without a lease it does not matter any more: what is stored is read again.
      const isConnected =
        isHeld() &&
        (await connected().then(
          () => true,
          () => false,
        ));
      if (isConnected) break;
      if (lost) throw lost;
      const isOver = closing.signal.aborted || nowMs() >= deadlineMs || !isHeld();
      if (isOver) doubt = "rejected";
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
  /** Resolves when those before have ended, and gives what ends this one. */
  const takeTurn = async (): Promise<() => void> => {
    const before = last;
    const ended = Promise.withResolvers<void>();
    last = ended.promise;
    await before;
    return ended.resolve;
  };
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      const asOwner = owner;
      const end = await takeTurn();
      try {
        if (asOwner !== owner) throw new FencedError(fencedText);
        await connected();
      } catch (error) {
        end();
        throw error;
      }
      const sinceMs = nowMs();
      release = () => {
        reviewConnection(sinceMs);
        end();
      };
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
      // A replica that is fenced joins again: membership says whether it is ready.
      if (lost instanceof StoreLostError) throw lost;
      if (failure) throw failure.error;
    },
    async writeAs(id, join) {
      const end = await takeTurn();
      try {
        if (!session.isOpen()) session = await connectAgain();
        await join();
        owner = id;
        commits = 0;
        [doubt, lost, failure, unwritableSinceMs] = [null, null, null, null];
      } finally {
        end();
      }
    },
    abort: () => session.abort(),
  };
}
