import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import { onTestFinished } from "vitest";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { createNotifications } from "../../../src/store/notifications.ts";
import { createOutbox } from "../../../src/store/outbox.ts";
import { sqliteDialect } from "../../../src/store/sqlite/dialect.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { freshStoreFile } from "../../support/fresh-store.ts";

export interface TestStore {
  readonly path: string;
  readonly kysely: Kysely<Tables>;
  readonly outbox: ReturnType<typeof createOutbox>;
  readonly notifications: ReturnType<typeof createNotifications>;
  /** How SQLite means to answer each statement that a call leads to, one line a step. */
  explain(call: (kysely: Kysely<Tables>) => Promise<unknown>): Promise<readonly string[]>;
  /** Closes the file and opens it again, as the next process would. */
  reopen(): Promise<TestStore>;
  states(): Promise<readonly string[]>;
}

/** A real store in a folder of its own, gone when the test ends. */
export function openTestStore(): TestStore {
  return open(freshStoreFile());
}

function open(path: string): TestStore {
  const database = openDatabase(path, { isTemporary: true });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= database.close());
  onTestFinished(close);
  return {
    path,
    kysely: database.kysely,
    outbox: createOutbox(database.kysely),
    notifications: createNotifications(database.kysely),
    explain: (call) => explain(path, call),
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

/** Ends a notification by its one attempt, whatever that means for the receiver. */
export function settle(
  outbox: TestStore["outbox"],
  seq: number,
  settlement: { readonly state: "delivered" | "dead"; readonly settledAtMs: number },
): Promise<IncidentOutcome | null> {
  const { state, settledAtMs: atMs } = settlement;
  const reason = "rejected";
  const failure = state === "dead" ? { reason, detail: "HTTP 400" } : null;
  const said = state === "dead" ? { ...settlement, reason } : settlement;
  return outbox.settle(seq, said, { atMs, failure }, nothingJudged);
}

function nothingJudged(): IncidentOutcome {
  return { written: [], dropped: [], flaps: [], steps: [], outbox: [] };
}

async function explain(
  path: string,
  call: (kysely: Kysely<Tables>) => Promise<unknown>,
): Promise<readonly string[]> {
  using database = new DatabaseSync(path);
  const statements: string[] = [];
  const kysely = new Kysely<Tables>({
    dialect: sqliteDialect(database),
    log: ({ query }) => void statements.push(query.sql),
  });
  await call(kysely);
  return statements
    .filter((statement) => /^\s*(with|select|update|insert|delete)/.test(statement))
    .flatMap((statement) => database.prepare(`explain query plan ${statement}`).all())
    .map((step) => String(step["detail"]));
}
