import {
  CompiledQuery,
  Kysely,
  OperatorNode,
  PrimitiveValueListNode,
  ValueListNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type BinaryOperationNode,
  type DatabaseConnection,
  type Driver,
} from "kysely";
import { systemClock, type Clock } from "../../lib/clock.ts";
import type { Migration } from "../schema.ts";
import { StoreError, type StoreLostError } from "../store-error.ts";
import type { PostgresSettings } from "../store-settings.ts";
import type { Db, Tables } from "../tables.ts";
import { openCandidate, usualLeaseMs, type Candidate } from "./candidate.ts";
import { lockHolder, processesQuery, waitForLock, type Process } from "./processes.ts";
import { checkCurrent, checkServer, StoreMissingError } from "./schema-check.ts";
import { createConnector, execute, streamQuery, type Connector, type Session } from "./session.ts";

export interface PostgresOptions {
  readonly clock?: Clock | undefined;
  /** Called once when this process does not hold the lock of the store any more. */
  readonly onLost?: ((error: StoreLostError) => void) | undefined;
  /** One that is active. It is not closed with the store. Default: a new one, which does not wait to become active. */
  readonly candidate?: Candidate | undefined;
  /** Refuses to create the store. */
  readonly mustExist?: boolean;
  /** Replaces those of this version. */
  readonly migrations?: readonly Migration[];
}

/**
 * Opens the store on PostgreSQL, creates its schema or brings it to this version, and holds it until closed against every
 * other process.
 *
 * @throws {StoreError} when it cannot be used
 */
export async function openPostgres(settings: PostgresSettings, options: PostgresOptions = {}) {
  const candidate = options.candidate ?? (await openAlone(settings, options));
  const writer = createWriterDriver(candidate.session);
  const kysely = openKysely(writer);
  const reader = openKysely(createReaderDriver(candidate.connector, writer));
  const close = async (): Promise<void> => {
    await reader.destroy();
    await kysely.destroy();
    if (!options.candidate) await candidate.close();
  };
  const check = (): void => candidate.check();
  const leadership = candidate;
  return {
    kysely,
    reader,
    check,
    close,
    leadership,
    ...readsProcesses(reader, candidate.connector),
  };
}

async function openAlone(
  settings: PostgresSettings,
  { clock = systemClock, onLost = () => {}, mustExist, migrations: known }: PostgresOptions,
): Promise<Candidate> {
  const schema = { mustExist, known };
  const own = { address: null, leaseMs: usualLeaseMs, clock, onLost, schema };
  const candidate = await openCandidate(settings, own);
  try {
    await waitForLock(() => candidate.tryToTakeOver(), candidate.connector);
    return candidate;
  } catch (error) {
    await candidate.close();
    throw error;
  }
}

function readsProcesses(reader: Db, { schema }: Pick<Connector, "schema">) {
  const query = CompiledQuery.raw(processesQuery(schema));
  return {
    processes: async (): Promise<readonly Process[]> =>
      (await reader.executeQuery<Process>(query)).rows,
  };
}

/**
 * Opens it read-only: also while a daemon runs on it.
 *
 * @throws {StoreError} when there is no such store, or it is not of this version
 */
export async function openPostgresReader(settings: PostgresSettings) {
  const connector = await createConnector(settings);
  await withSession(connector, (session) => checkCurrent(session, connector));
  const reader = openKysely(createReaderDriver(connector));
  return { reader, close: () => reader.destroy(), ...readsProcesses(reader, connector) };
}

/** @throws {StoreError} when that cannot be found out */
export async function isPostgresStoreInUse(settings: PostgresSettings): Promise<boolean> {
  const connector = await createConnector(settings);
  const holder = await withSession(connector, (session) => lockHolder(session, connector.schema));
  return holder !== null;
}

/**
 * What can be found out about a server and the store on it, without changing anything.
 *
 * @throws {StoreError} when the server cannot be reached or used
 */
export async function examinePostgres(settings: PostgresSettings) {
  const connector = await createConnector(settings);
  return withSession(connector, async (session) => {
    await checkServer(session, connector);
    const { rows } = await session.query(
      `select current_setting('server_version') as version, coalesce(ssl, false) as encrypted,
         client_addr is null or client_addr = inet_server_addr() as local,
         coalesce(
           has_schema_privilege(to_regnamespace($1), 'create'),
           has_database_privilege(current_database(), 'create')
         ) as creates
       from pg_stat_ssl join pg_stat_activity using (pid) where pid = pg_backend_pid()`,
      [`"${connector.schema}"`],
    );
    const { version, encrypted, local, creates } = rows[0];
    return {
      place: connector.place,
      version: String(version),
      isEncrypted: encrypted === true,
      isLocal: local === true,
      holder: await lockHolder(session, connector.schema),
      fault: await whyNotCurrent(session, connector, creates === true),
    };
  });
}

/** Null: the store is there and of this version. */
async function whyNotCurrent(
  session: Session,
  connector: Connector,
  canCreate: boolean,
): Promise<{ readonly text: string; readonly isFailure: boolean } | null> {
  try {
    await checkCurrent(session, connector);
    return null;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const isCreated = error instanceof StoreMissingError && canCreate;
    return { text: error.message, isFailure: !isCreated };
  }
}

async function withSession<Value>(
  connector: Connector,
  use: (session: Session) => Promise<Value>,
): Promise<Value> {
  const session = await connector.connect({ isReader: true });
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

function openKysely(driver: Driver): Db {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createQueryCompiler: () => new QueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
}

/** Also of lists without values, which PostgreSQL refuses: nothing is in them. */
class QueryCompiler extends PostgresQueryCompiler {
  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { operator, rightOperand: list } = node;
    const isList = PrimitiveValueListNode.is(list) || ValueListNode.is(list);
    if (!isList || list.values.length > 0) return super.visitBinaryOperation(node);
    this.append(OperatorNode.is(operator) && operator.operator === "not in" ? "true" : "false");
  }
}

const mostReaders = 4;
const tryAgainMs = 10_000;

/**
 * A few sessions that read, each opened when it is needed.
 *
 * @param other has a session already. It reads where no further one can be opened: connections may be limited
 */
function createReaderDriver(connector: Connector, other: Driver | null = null): Driver {
  const idle: Session[] = [];
  const used = new Map<DatabaseConnection, Session>();
  const waiting: (() => void)[] = [];
  let free = mostReaders;
  /** On the clock of `performance.now`. */
  let refusedUntilMs = -Infinity;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  const open = async (): Promise<DatabaseConnection> => {
    let session = idle.pop();
    while (session && !session.isOpen()) session = idle.pop();
    const opened = session ?? (await connector.connect({ isReader: true }));
    const connection: DatabaseConnection = {
      executeQuery: (query) => execute(opened, query),
      streamQuery,
    };
    used.set(connection, opened);
    return connection;
  };
  return {
    async init() {},
    async acquireConnection() {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        if (!other || idle.length > 0 || performance.now() >= refusedUntilMs) return await open();
      } catch (error) {
        if (!other) {
          leave();
          throw error;
        }
        refusedUntilMs = performance.now() + tryAgainMs;
      }
      leave();
      return other.acquireConnection();
    },
    async beginTransaction(connection, { isolationLevel = "read committed" }) {
      await connection.executeQuery(CompiledQuery.raw(`begin isolation level ${isolationLevel}`));
    },
    async commitTransaction(connection) {
      await connection.executeQuery(CompiledQuery.raw("commit"));
    },
    async rollbackTransaction(connection) {
      const session = used.get(connection);
      if (session?.isOpen()) await session.query("rollback").catch(() => session.close());
      if (!session) await other?.rollbackTransaction(connection);
    },
    async releaseConnection(connection) {
      const session = used.get(connection);
      if (!session) return other?.releaseConnection(connection);
      used.delete(connection);
      if (session.isOpen()) idle.push(session);
      leave();
    },
    async destroy() {
      await Promise.all(idle.splice(0).map((session) => session.close()));
    },
  };
}

/**
 * Writes by the session that holds the lock of the store, one transaction after the other, as with SQLite. When the session
 * has ended, every statement fails: the process then reads what is stored before it writes again.
 */
function createWriterDriver(session: Session): Driver {
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
