import type { DatabaseSync } from "node:sqlite";
import { migrations } from "./migrations.ts";

/** "swch": distinguishes a store of sandwatch from any other SQLite file. */
export const applicationId = 0x73776368;

/** The `user_version` of a store of this version. */
export const newestVersion = migrations.length;

/** @param version of the store as it is; 0: it is empty */
export function applyMigrations(database: DatabaseSync, version = 0): void {
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue;
    database.exec("begin immediate");
    migration(database);
    database.exec(
      `pragma application_id = ${applicationId}; pragma user_version = ${index + 1}; commit;`,
    );
  }
}
