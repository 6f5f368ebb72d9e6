import { Secret } from "../../../src/lib/secret.ts";
import { openPostgres } from "../../../src/store/postgres/database.ts";
import type { PostgresSettings } from "../../../src/store/store-settings.ts";

let schemas = 0;

/** An empty store, in a schema of its own. */
export function openOnPostgres(folder: string) {
  schemas += 1;
  return openPostgres(postgresSettings(folder, `store_${process.pid}_${schemas}`));
}

/** @param folder that of the server's socket */
export function postgresSettings(folder: string, schema: string): PostgresSettings {
  const url = new Secret(`postgresql:///postgres?user=test&host=${encodeURIComponent(folder)}`);
  return { url, schema, ca: null };
}
