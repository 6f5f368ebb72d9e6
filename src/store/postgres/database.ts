import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";
import { CompiledQuery, type DatabaseConnection, type Driver } from "kysely";
import { systemClock, type Clock } from "../../lib/clock.ts";
import type { Migration } from "../migrations.ts";
import { StoreError, type StoreLostError } from "../store-error.ts";
import type { PostgresSettings } from "../store-settings.ts";
import type { Db, Tables } from "../tables.ts";
import { lockHolder } from "./lock.ts";
import type { ClusterView } from "../../fleet/replicas.ts";
import { clusterQuery, createReplicaStore } from "./replicas.ts";
import { checkCurrent, checkServer, StoreMissingError } from "./schema-check.ts";
import { createConnector, execute, oneOfSeveral, streamQuery } from "./session.ts";
import type { Connector, Session } from "./session.ts";
import { writeTargetsTogether } from "./target-rows.ts";
import { openWriter, type ClusterOptions } from "./writer.ts";

export interface PostgresOptions {
  readonly clock?: Clock | undefined;
  /** Called once when what is stored may differ from what this process has read and written. */
  readonly onLost?: ((error: StoreLostError) => void) | undefined;
  /** Shares the store with other replicas. */
  readonly cluster?: ClusterOptions | undefined;
  /** Refuses to create the store. */
  readonly mustExist?: boolean;
  /** Replaces those of this version. */
  readonly migrations?: readonly Migration[];
}

/**
 * Opens the store on PostgreSQL, creates its schema or brings it to this version, and holds it until closed against every
 * other process, or those that are no replicas.
 *
 * @throws {StoreError} when it cannot be used
 */
export async function openPostgres(
  settings: PostgresSettings,
  {
    clock = systemClock,
    onLost,
    cluster: options,
    mustExist,
    migrations: known,
  }: PostgresOptions = {},
) {
  const connector = await createConnector(settings, options && oneOfSeveral);
  const writer = await openWriter(connector, {
    clock,
    onLost,
    cluster: options,
    schema: { mustExist, known },
  });
  const { driver } = writer;
  const readers = createReaderDriver(connector);
  const interrupt = (): void => {
    writer.abort();
    readers.abort();
  };
  const cluster = options ? createReplicaStore(connector, writer, interrupt, known) : null;
  const kysely = openKysely(driver);
  const reader = openKysely(readers);
  const close = async (): Promise<void> => {
    await reader.destroy();
    await kysely.destroy();
    // Kysely destroys a driver only if it was ever asked for something.
    await driver.destroy();
    await cluster?.close();
  };
  const reading = { reader, readCluster: () => readCluster(reader) };
  const writeTogether = writeTargetsTogether;
  return { kysely, ...reading, check: () => writer.check(), close, cluster, writeTogether };
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
  return { reader, readCluster: () => readCluster(reader), close: () => reader.destroy() };
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
  const session = await connector.connect(readOnly);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

const readOnly = "set default_transaction_read_only to on";

function openKysely(driver: Driver): Db {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
}

async function readCluster(reader: Db): Promise<ClusterView> {
  const { rows } = await reader.executeQuery<ClusterView>(CompiledQuery.raw(clusterQuery));
  const [view] = rows;
  if (!view) throw new Error("the query of replicas gave no row");
  return view;
}

const mostReaders = 4;

/** A few sessions that read, each opened when it is needed. */
function createReaderDriver(connector: Connector): Driver & { abort(): void } {
  const idle: Session[] = [];
  const used = new Map<DatabaseConnection, Session>();
  const waiting: (() => void)[] = [];
  let free = mostReaders;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return {
    /** What is being read fails at once, and what is read next has new sessions. */
    abort: () => [...used.values(), ...idle].forEach((session) => session.abort()),
    async init() {},
    async acquireConnection() {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        let session = idle.pop();
        while (session && !session.isOpen()) session = idle.pop();
        const opened = session ?? (await connector.connect(readOnly));
        const connection: DatabaseConnection = {
          executeQuery: (query) => execute(opened, query),
          streamQuery,
        };
        used.set(connection, opened);
        return connection;
      } catch (error) {
        leave();
        throw error;
      }
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
    },
    async releaseConnection(connection) {
      const session = used.get(connection);
      used.delete(connection);
      if (session?.isOpen()) idle.push(session);
      leave();
    },
    async destroy() {
      await Promise.all(idle.splice(0).map((session) => session.close()));
    },
  };
}
