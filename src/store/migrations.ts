import { schemaStatements, type SchemaDialect } from "./schema.ts";

/** The statements that lead from one version of the schema to the next. */
export type Migration = (dialect: SchemaDialect) => readonly string[];

/**
 * How an empty database becomes version 1, version 1 becomes version 2, and so on: their number is the present version.
 * Once published, a migration stays as it is. It imports no live code.
 */
export const migrations: readonly Migration[] = [schemaStatements];
