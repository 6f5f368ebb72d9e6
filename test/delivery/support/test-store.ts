import { join } from "node:path";
import type { Kysely } from "kysely";
import { onTestFinished } from "vitest";
import { openDatabase } from "../../../src/store/database.ts";
import { createOutbox } from "../../../src/store/outbox.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { tempFolder } from "../../support/temp-folder.ts";

export interface TestStore {
  readonly path: string;
  readonly kysely: Kysely<Tables>;
  readonly outbox: ReturnType<typeof createOutbox>;
  /** Closes the file and opens it again, as the next process would. */
  reopen(): Promise<TestStore>;
  states(): Promise<readonly string[]>;
}

/** A real store in a folder of its own, gone when the test ends. */
export function openTestStore(): TestStore {
  return open(join(tempFolder(), "store.db"));
}

function open(path: string): TestStore {
  const database = openDatabase(path);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= database.close());
  onTestFinished(close);
  return {
    path,
    kysely: database.kysely,
    outbox: createOutbox(database.kysely),
    async reopen() {
      await close();
      return open(path);
    },
    async states() {
      const rows = await database.kysely
        .selectFrom("notifications")
        .select("state")
        .orderBy("seq")
        .execute();
      return rows.map((row) => row.state);
    },
  };
}
