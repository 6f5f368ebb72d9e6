import type { CompiledQuery, DatabaseConnection, Driver } from "kysely";
import { StoreError } from "../store-error.ts";
import { execute, streamQuery, type Session } from "./session.ts";

/**
 * Writes by the session that holds the lock of the store, one transaction after the other, as with SQLite. When the session
 * has ended, every statement fails: the process then reads what is stored before it writes again.
 */
export function createWriterDriver(session: Session): Driver {
  let last = Promise.resolve();
  let release = (): void => {};

  const commit = async (): Promise<void> => {
    const { command } = await session.query("commit");
    // PostgreSQL says so where a statement of the transaction failed before.
    if (command !== "ROLLBACK") return;
    throw new StoreError(
      "PostgreSQL rolled the transaction back, and nothing of it is stored. Polls and deliveries are repeated by themselves; repeat a command. The log of PostgreSQL has the cause.",
    );
  };
  const connection: DatabaseConnection = {
    executeQuery: <Row>(query: CompiledQuery) => execute<Row>(session, query),
    streamQuery,
  };
  return {
    async init() {},
    async acquireConnection() {
      const before = last;
      const ended = Promise.withResolvers<void>();
      last = ended.promise;
      await before;
      release = ended.resolve;
      return connection;
    },
    async beginTransaction() {
      await session.query("begin");
    },
    commitTransaction: commit,
    async rollbackTransaction() {
      // A lost connection has rolled back already, and the error of a second time would hide the cause.
      if (session.isOpen()) await session.query("rollback").catch(() => session.abort());
    },
    async releaseConnection() {
      release();
    },
    async destroy() {
      await last;
    },
  };
}
