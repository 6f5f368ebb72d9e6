import { resolve } from "node:path";
import { parsePostgresUrl } from "../lib/postgres-url.ts";
import type { Secret } from "../lib/secret.ts";

/** Where the store is. */
export interface StoreSettings {
  /** The file of SQLite. It is not used with PostgreSQL. */
  readonly path: string;
  /** Null: the store is a file of SQLite. */
  readonly postgres: PostgresSettings | null;
}

export interface PostgresSettings {
  /** As `parsePostgresUrl` reads it. */
  readonly url: Secret;
  /** The schema of PostgreSQL that has the tables. */
  readonly schema: string;
  /** Certificates of authorities in PEM. Null: as the address says. */
  readonly ca: string | null;
}

/** Names the store in messages, without secrets. */
export function storeName({ path, postgres }: StoreSettings): string {
  if (postgres === null) return path;
  const { database, place } = parsePostgresUrl(postgres.url.reveal()) ?? {};
  return `schema ${postgres.schema} of the PostgreSQL database ${database} at ${place}`;
}

export function isSameStore(one: StoreSettings, other: StoreSettings): boolean {
  if (one.postgres !== null || other.postgres !== null) {
    return one.postgres !== null && other.postgres !== null && storeName(one) === storeName(other);
  }
  return resolve(one.path) === resolve(other.path);
}
