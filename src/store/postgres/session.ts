import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { CompiledQuery, QueryResult } from "kysely";
import type * as postgres from "pg";
import type { Client, ClientConfig, QueryResult as PostgresResult } from "pg";
import { asError } from "../../lib/as-error.ts";
import { parsePostgresUrl, type PostgresAddress } from "../../lib/postgres-url.ts";
import { storableText } from "../sql-helpers.ts";
import { StoreError, StoreUnavailableError } from "../store-error.ts";
import type { PostgresSettings } from "../store-settings.ts";

/** A connection to the server. Its errors end no process, and have nothing of rows and passwords. */
export interface Session {
  /** Whether it can be used: it is closed by its first failure that is not one of a statement. */
  readonly isOpen: () => boolean;
  /** @throws {PostgresError | ConnectionLostError} */
  query(
    statement: string,
    values?: readonly unknown[],
    timeoutMs?: number,
  ): Promise<PostgresResult>;
  /** Several statements without values. */
  queryAll(statements: string, timeoutMs?: number): Promise<readonly PostgresResult[]>;
  close(): Promise<void>;
  /** Ends it at once: what waits for an answer fails. */
  abort(): void;
}

/** Runs a query of Kysely. */
export async function execute<Row>(
  session: Session,
  { sql, parameters }: CompiledQuery,
): Promise<QueryResult<Row>> {
  const { command, rowCount, rows } = await session.query(sql, parameters);
  const isWrite = ["INSERT", "UPDATE", "DELETE"].includes(command);
  return { rows, ...(isWrite && { numAffectedRows: BigInt(rowCount ?? 0) }) };
}

/** @throws always: no query of the store needs it */
export function streamQuery(): never {
  throw new Error("the store streams no rows");
}

/** A failed statement. It has the SQLSTATE of the server. */
export class PostgresError extends Error {
  override readonly name = "PostgresError";
  readonly code: string;

  constructor(message: string, code: string) {
    super(`PostgreSQL: ${message}`);
    this.code = code;
  }
}

/** Whether a statement failed as a table, a column or the schema is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof PostgresError && /^(?:42P01|42703|3F000)$/.test(error.code);
}

/** The connection cannot be used any more. */
export class ConnectionLostError extends StoreUnavailableError {
  readonly why: string;
  readonly code: string;

  constructor(why: string, code: string) {
    super(
      code === readOnly
        ? "PostgreSQL takes no writes: it is a stand-by, or default_transaction_read_only is on"
        : `The connection to PostgreSQL was lost: ${why}`,
    );
    this.why = why;
    this.code = code;
  }
}

/** The detail of an error quotes rows: only its message and code are kept. */
function readError(cause: unknown): PostgresError | ConnectionLostError {
  // A name may have several addresses, each of which failed.
  const error = asError(cause instanceof AggregateError ? cause.errors[0] : cause);
  const code = "code" in error ? String(error.code) : "";
  const isOfStatement = "severity" in error && error.severity === "ERROR" && code !== readOnly;
  return new (isOfStatement ? PostgresError : ConnectionLostError)(error.message, code);
}

/** The database takes no writes: the next connection may find another server, or one that does. */
const readOnly = "25006";

const tooMany = "53300";

/** What keeps a server that is there from being used: a name, a password, a privilege or a certificate. */
const refusals = /^(?:28|3D|42)...$|^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

const connectMs = 5_000;
const statementMs = 60_000;

/** How much later than the server's own limit the client takes an answer for lost. */
const answerMarginMs = 2_000;
const usualMs = statementMs + answerMarginMs;

export interface SessionOptions {
  /** It must not write. */
  readonly isReader?: boolean;
  /** Called also when it was closed. */
  readonly onEnd?: () => void;
}

const setUpOf = (schema: string): string =>
  [
    `set search_path to "${schema}"`,
    "set application_name to sandwatch",
    // Whatever the default of the server is.
    "set default_transaction_isolation to 'read committed'",
    "set lock_timeout to 10000",
    "set idle_in_transaction_session_timeout to 30000",
    // A session whose machine is gone, and which holds the lock of the store, ends soon.
    "set tcp_keepalives_idle to 15; set tcp_keepalives_interval to 5; set tcp_keepalives_count to 3",
    "set tcp_user_timeout to 30000",
    `set statement_timeout to ${statementMs}`,
  ].join(";\n");

/** @param pg is loaded only where it is used */
function clientSettings(
  { TypeOverrides, types }: typeof postgres,
  { host, port, database, user, password }: PostgresAddress,
  ssl: ReturnType<typeof readSsl>,
): ClientConfig {
  // Whole numbers of 64 bits and their sums come as text otherwise.
  const numbers = new TypeOverrides();
  numbers.setTypeParser(types.builtins.INT8, Number);
  numbers.setTypeParser(types.builtins.NUMERIC, Number);
  return {
    host,
    port,
    database,
    user,
    // As a function, so that no variable of the environment and no file replaces it.
    password: () => password,
    ssl,
    types: numbers,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

export type Connector = Awaited<ReturnType<typeof createConnector>>;

/** @throws {StoreError} when the certificates of authorities cannot be read */
export async function createConnector({ url, schema, ca }: PostgresSettings) {
  // Loaded only here, so that nobody waits for it who uses SQLite.
  const pg = await import("pg");
  const address = parsePostgresUrl(url.reveal());
  if (!address)
    throw new StoreError(
      "The address of PostgreSQL cannot be read. Correct store.postgres.url, or the file that store.postgres.url_file names.",
    );
  const { place, database } = address;
  const ssl = readSsl(address, ca);
  let isPoolerKnown = false;

  const createClient = (): Client => new pg.Client(clientSettings(pg, address, ssl));

  /** Before anything is set: another application would inherit it. */
  const refuseAssignedTransactions = async (client: Client, pid: number): Promise<void> => {
    if (isPoolerKnown) return;
    // A pooler answers with a number of its own.
    const isPooled = "processID" in client && client.processID !== pid;
    if (isPooled && (await assignsTransactions(client, createClient()))) {
      throw new StoreError(
        `The PostgreSQL database ${database} at ${place} is reached by a pooler that assigns each transaction to another session, such as PgBouncer with pool_mode = transaction. sandwatch needs a session of its own: set store.postgres.url to the address of the server, or set pool_mode = session for it.`,
      );
    }
    isPoolerKnown = true;
  };

  const connect = async ({ isReader = false, onEnd }: SessionOptions): Promise<Session> => {
    const client = createClient();
    let isOpen = true;
    const end = (): void => {
      isOpen = false;
      client.connection.stream.destroy();
    };
    client.on("error", end);
    const watched = async <Result>(
      running: Promise<Result>,
      timeoutMs: number,
    ): Promise<Result> => {
      // The server ends a statement before that, unless there is no way to it any more.
      const late = setTimeout(end, timeoutMs);
      try {
        return await running;
      } catch (cause) {
        const error = readError(cause);
        if (error instanceof ConnectionLostError) end();
        throw error;
      } finally {
        clearTimeout(late);
      }
    };
    const queryAll = async (statements: string, timeoutMs = usualMs) => {
      const results: unknown = await watched(client.query(statements), timeoutMs);
      return Array.isArray(results) ? results : [results];
    };
    await watched(client.connect(), connectMs);
    try {
      const [first] = await queryAll("select pg_backend_pid() as pid", connectMs);
      const pid = Number(first?.rows[0]?.pid);
      await refuseAssignedTransactions(client, pid);
      const more = isReader ? ";\nset default_transaction_read_only to on" : "";
      await queryAll(`${setUpOf(schema)}${more}`, connectMs);
    } catch (error) {
      end();
      throw error;
    }
    client.on("end", () => onEnd?.());
    return {
      isOpen: () => isOpen,
      query: (statement, values = [], timeoutMs = usualMs) =>
        watched(client.query(statement, values.map(toParameter)), timeoutMs),
      queryAll,
      abort: end,
      async close() {
        if (!isOpen) return;
        isOpen = false;
        const late = setTimeout(end, connectMs);
        await client.end().catch(() => {});
        clearTimeout(late);
      },
    };
  };

  return {
    schema,
    place: `PostgreSQL database ${database} at ${place}`,
    /**
     * @throws {StoreUnavailableError} when the server cannot be reached now
     * @throws {StoreError} when it refuses the connection
     */
    async connect(options: SessionOptions = {}): Promise<Session> {
      try {
        return await connect(options);
      } catch (error) {
        throw asStoreError(error, `The PostgreSQL database ${database} at ${place}`);
      }
    },
  };
}

/** @param place begins a sentence */
export function inRecoveryError(place: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `${place} is a stand-by, which cannot be written. Promote it, or set store.postgres.url to the address of the primary.`,
  );
}

function asStoreError(cause: unknown, place: string): unknown {
  if (!(cause instanceof ConnectionLostError)) return cause;
  const { why } = cause;
  if (cause.code === readOnly) return inRecoveryError(place);
  if (cause.code === tooMany) {
    return new StoreUnavailableError(
      `${place} allows no further connection: ${why}. Raise the limit of its role or database (connection limit) or of the server (max_connections): the active process uses two to six, a standby and a command one each.`,
    );
  }
  return refusals.test(cause.code)
    ? new StoreError(
        `${place} refuses the connection: ${why}. Check user, password, database and sslmode of store.postgres.url, and the authorities of the server's certificate.`,
      )
    : new StoreUnavailableError(
        `${place} cannot be reached: ${why}. Check that the server runs, and store.postgres.url.`,
      );
}

function readSsl(
  { sslMode, rootCertificateFile }: PostgresAddress,
  given: string | null,
): ConnectionOptions | false {
  if (sslMode === "disable") return false;
  const ca = given ?? (rootCertificateFile && readCertificates(rootCertificateFile));
  // As libpq does: with certificates of authorities, `require` checks the certificate, too.
  if (sslMode === "require" && ca === null) return { rejectUnauthorized: false };
  const trusted = ca === null ? {} : { ca };
  return sslMode === "verify-full" ? trusted : { ...trusted, checkServerIdentity: () => undefined };
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new StoreError(
      `The certificates of authorities for PostgreSQL cannot be read: ${asError(error).message}. Correct sslrootcert in store.postgres.url, or set store.postgres.ca_file.`,
    );
  }
}

/** PostgreSQL keeps no NUL character: one in a text of the service must not keep its poll from being stored. */
function toParameter(value: unknown): unknown {
  return typeof value === "string" ? storableText(value) : value;
}

const rounds = 4;

/**
 * Whether a pooler gives the session of a client to another client while the first is in no transaction. Nothing is set in
 * any session.
 *
 * @param other connects to the same address; it is closed here
 */
export async function assignsTransactions(client: Client, other: Client): Promise<boolean> {
  other.on("error", () => {});
  const own = new Set<number>();
  const others = new Set<number>();
  try {
    await other.connect();
    for (let round = 0; round < rounds; round += 1) {
      own.add(await pidOf(client));
      await other.query("begin");
      others.add(await pidOf(other));
      own.add(await pidOf(client));
      await other.query("commit");
    }
    return own.size > 1 || others.size > 1 || !own.isDisjointFrom(others);
  } catch (error) {
    // Where it assigns statements, it refuses transactions. Where it assigns sessions, all of them may be in use.
    return /transaction/i.test(asError(error).message);
  } finally {
    other.connection.stream.destroy();
  }
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ readonly pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}
