import type { Kysely } from "kysely";
import { onTestFinished } from "vitest";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { openFresh } from "../../support/fresh-store.ts";
import { openOnPostgres, postgresFolder } from "./postgres.ts";

export interface Opened {
  readonly kysely: Kysely<Tables>;
  readonly close: () => Promise<void>;
}

export interface Engine {
  readonly name: "SQLite" | "PostgreSQL";
  /** An empty store, gone when the test ends at the latest. */
  open(): Promise<Opened>;
  /** How many runs of a property are worth their time, of N on the faster engine. */
  runs(most: number): number;
}

function engine(name: Engine["name"], share: number, open: () => Promise<Opened>): Engine {
  return {
    name,
    runs: (most) => Math.ceil(most * share),
    async open() {
      const { kysely, close } = await open();
      let closing: Promise<void> | undefined;
      const closeOnce = (): Promise<void> => (closing ??= close());
      onTestFinished(closeOnce);
      return { kysely, close: closeOnce };
    },
  };
}

/** SQLite with a store in this file, where it may be already. */
export function sqliteIn(path: string): Engine {
  return engine("SQLite", 1, async () => openDatabase(path));
}

export const sqlite = engine("SQLite", 1, async () => openFresh());

/** The database that the repositories' tests run on: SQLite with the unit tests, PostgreSQL with the end-to-end tests. */
export const engines: readonly Engine[] = [
  postgresFolder === undefined ? sqlite : engine("PostgreSQL", 1 / 8, openOnPostgres),
];
