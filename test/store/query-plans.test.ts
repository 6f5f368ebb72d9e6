import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { expect, it } from "vitest";
import { createNotifiedIncidents } from "../../src/store/receiver-state.ts";
import { createOutbox } from "../../src/store/outbox.ts";
import { sqliteDialect } from "../../src/store/sqlite/dialect.ts";
import { createStore } from "../../src/store/store.ts";
import type { Db, Tables } from "../../src/store/tables.ts";
import { startMs } from "../notify/support/items.ts";
import { notificationOf } from "../notify/support/notifications.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { noOutcome } from "./support/outbox-store.ts";

const times = { nextAttemptAtMs: startMs, giveUpAtMs: startMs + 1 };
const notification = notificationOf({ id: "one", receiver: "oncall", createdAtMs: startMs });
const composed = { notification, itemSeqs: [], groupNames: ["group"], ...times };

it.each<readonly [what: string, call: (kysely: Db) => Promise<unknown>, refused: RegExp]>([
  [
    "deliver",
    async (kysely) => {
      const outbox = createOutbox(kysely);
      await outbox.openItems("oncall", 10);
      await outbox.ready("oncall", 4, [1]);
      await outbox.groupTimes("oncall", startMs);
      const failure = { reason: "timeout", detail: "no answer" };
      await outbox.retryLater(1, startMs, { atMs: startMs, failure });
      const delivered = { state: "delivered", settledAtMs: startMs } as const;
      await outbox.settle(1, delivered, { atMs: startMs, failure: null }, () => noOutcome);
    },
    /SCAN|TEMP B-TREE/,
  ],
  ["compose", (kysely) => createOutbox(kysely).compose([composed]), /SCAN (?!CONSTANT)/],
  [
    "read the figures",
    (kysely) => createOutbox(kysely).figures(),
    /SCAN (notifications|outbox_items)(?!.*USING COVERING INDEX)/,
  ],
  [
    "find incidents that are about the same",
    (kysely) => createNotifiedIncidents(kysely).notifiedTo("am", startMs, ["a"]),
    /SCAN (alike|incidents)/,
  ],
  [
    "find the firing incidents of a rule",
    (kysely) => createNotifiedIncidents(kysely).firingOf("am", "down"),
    /SCAN incidents(?!.*USING (COVERING )?INDEX)/,
  ],
  [
    "prune",
    async (kysely) => {
      const { prune } = createStore(kysely, async () => {});
      await prune.notifications({ deliveredBeforeMs: startMs, deadBeforeMs: startMs });
      await prune.changes(startMs);
      await prune.gaps(startMs);
      await prune.incidents(startMs);
      await prune.rollups("1h", startMs, startMs);
    },
    // Of targets there are few.
    /SCAN (?!targets|done|dead|\(subquery)/,
  ],
])("queries that %s are answered from indexes", async (_, call, refused) => {
  using database = new DatabaseSync(freshStoreFile());
  const statements: string[] = [];
  const kysely = new Kysely<Tables>({
    dialect: sqliteDialect(database),
    log: ({ query }) => void statements.push(query.sql),
  });
  await createOutbox(kysely).compose([{ ...composed, notification: { ...notification, id: "0" } }]);
  statements.length = 0;
  await call(kysely);
  const plans = statements
    .filter((statement) => /^\s*(with|select|update|insert|delete)/.test(statement))
    .flatMap((statement) => database.prepare(`explain query plan ${statement}`).all())
    .map(({ detail }) => String(detail))
    // It has one row.
    .filter((plan) => plan !== "SCAN commit_sequence");
  expect(plans).not.toEqual([]);
  expect(plans.filter((plan) => refused.test(plan))).toEqual([]);
});

it("of very many dead letters a statement names few, and only what is dead is discarded", async () => {
  using database = new DatabaseSync(freshStoreFile());
  const counts: number[] = [];
  const kysely = new Kysely<Tables>({
    dialect: sqliteDialect(database),
    log: ({ query }) => void counts.push(query.parameters.length),
  });
  const outbox = createOutbox(kysely);
  const ids = Array.from({ length: 5 }, (_, index) => `${index}`);
  await outbox.compose(ids.map((id) => ({ ...composed, notification: { ...notification, id } })));
  for (const seq of [2, 4]) {
    const dead = { state: "dead", reason: "rejected", settledAtMs: startMs } as const;
    await outbox.settle(seq, dead, { atMs: startMs, failure: null }, () => noOutcome);
  }
  counts.length = 0;
  const seqs = [4, 4, ...Array.from({ length: 1_000 }, (_, index) => 1_000 - index)];
  const { notifications } = createStore(kysely, async () => {});
  expect(await notifications.discard({ seqs }, startMs)).toBe(2);
  expect(Math.max(...counts)).toBeLessThan(110);
  const states = (await notifications.list({ limit: 9 })).map(({ state }) => state);
  expect(states).toEqual(["pending", "discarded", "pending", "discarded", "pending"]);
});
