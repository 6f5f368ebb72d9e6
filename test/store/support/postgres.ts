import { Secret } from "../../../src/lib/secret.ts";
import { openPostgres } from "../../../src/store/postgres/database.ts";
import type { PostgresSettings } from "../../../src/store/store-settings.ts";

/** That of the socket of the PostgreSQL that this worker has for itself; undefined where tests run without. */
export const postgresFolder =
  process.env["TEST_POSTGRES"]?.split(":")[Number(process.env["VITEST_POOL_ID"]) - 1];

let schemas = 0;

/** An empty store, in a schema of its own. */
export function openOnPostgres() {
  schemas += 1;
  return openPostgres(postgresSettings(postgresFolder ?? "", `store_${process.pid}_${schemas}`));
}

/** @param folder that of the server's socket */
export function postgresSettings(folder: string, schema: string): PostgresSettings {
  const url = new Secret(`postgresql:///postgres?user=test&host=${encodeURIComponent(folder)}`);
  return { url, schema, ca: null };
}
