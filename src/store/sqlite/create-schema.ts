import type { DatabaseSync } from "node:sqlite";
import { schemaStatements, schemaVersion } from "../schema.ts";
import type { SchemaDialect } from "../schema.ts";

/** "swch": distinguishes a store of sandwatch from any other SQLite file. */
export const applicationId = 0x73776368;

const sqliteSchema: SchemaDialect = {
  identity: "integer primary key autoincrement",
  bigint: "integer",
  double: "real",
  text: "text",
  table: " strict",
  clustered: " strict, without rowid",
};

/** Makes the schema in an empty database, whole or not at all. */
export function createSchema(database: DatabaseSync): void {
  database.exec("begin immediate");
  for (const statement of schemaStatements(sqliteSchema)) database.exec(statement);
  database.exec(
    `pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}; commit;`,
  );
}
