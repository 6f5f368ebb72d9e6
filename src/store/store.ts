import type { Kysely } from "kysely";
import { sql } from "kysely";
import { openDatabase } from "./database.ts";
import { createOutbox } from "./outbox.ts";
import { createPollCommits } from "./poll-commits.ts";
import type { PollCommits } from "./poll-commits.ts";
import { createSnapshotPages } from "./snapshot-pages.ts";
import { createStoredTargets } from "./stored-targets.ts";
import type { StoredTargets } from "./stored-targets.ts";
import type { Tables } from "./tables.ts";

/** All that sandwatch keeps, behind one door. */
export interface Store extends PollCommits {
  readonly targets: StoredTargets;
  readonly outbox: ReturnType<typeof createOutbox>;
  /** Rejects when the database does not answer. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** @throws {StoreError} when the file cannot be used */
export function openStore(path: string): Store {
  const { kysely, reader, close } = openDatabase(path);
  return createStore(kysely, close, reader);
}

export function createStore(
  kysely: Kysely<Tables>,
  close: () => Promise<void>,
  reader = kysely,
): Store {
  const pages = createSnapshotPages(kysely);
  return {
    ...createPollCommits(kysely, pages),
    targets: createStoredTargets(kysely, pages),
    outbox: createOutbox(kysely, reader),
    async check() {
      await sql`select 1`.execute(reader);
    },
    close,
  };
}
