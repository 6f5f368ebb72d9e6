import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { Kysely, sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { findServer } from "../../src/fleet/snapshot.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { sqliteDialect } from "../../src/store/sqlite/dialect.ts";
import { createStore } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { addTarget } from "../support/add-target.ts";
import { judgeBy, listing, watchFleet } from "../support/fleet.ts";
import { tempFolder } from "../support/temp-folder.ts";

const idle = listing({ a: "idle" });
const inError = listing({ a: "error" });

/** A store on disk with targets that were polled once. */
async function openShared(targetCount: number) {
  const file = join(tempFolder(), "sandwatch.db");
  await openDatabase(file).close();
  let commits = 0;
  const statements: string[] = [];
  const kysely = new Kysely<Tables>({
    dialect: sqliteDialect(new DatabaseSync(file, { enableForeignKeyConstraints: true })),
    log({ query }) {
      statements.push(query.sql);
      commits += query.sql === "commit" ? 1 : 0;
    },
  });
  let closing: Promise<void> | undefined;
  const store = createStore(kysely, () => (closing ??= kysely.destroy()));
  onTestFinished(() => store.close());
  const targets = [];
  for (let index = 0; index < targetCount; index += 1) {
    const target = { region: "us", key: `key-${index}` };
    const { id } = await addTarget(store, target);
    let incidents = 0;
    const judge = { ...judgeBy(), newIncidentId: () => `${target.key}-${++incidents}` };
    const { poll } = watchFleet(target, { judge });
    await store.commitPoll(id, poll(idle));
    const commit = (...outcome: Parameters<typeof poll>) => store.commitPoll(id, poll(...outcome));
    targets.push({ id, poll, commit });
  }
  /** How many transactions there were since the last time. */
  const takeCommits = (): number => {
    const taken = commits;
    commits = 0;
    return taken;
  };
  takeCommits();
  const pollsOf = async (): Promise<readonly number[]> => {
    const rows = await kysely.selectFrom("targets").selectAll().orderBy("id").execute();
    return rows.map((row) => row.attempted_polls);
  };
  const openItems = () => store.outbox.openItems("oncall", 999);
  return { kysely, store, statements, targets, takeCommits, pollsOf, openItems };
}

describe("a poll that changed something", () => {
  it("is committed with others that end in the same turn of the event loop", async () => {
    const { targets, takeCommits, openItems } = await openShared(5);
    const outcomes = [idle, idle, inError, inError, inError];
    await Promise.all(targets.map(({ commit }, index) => commit(outcomes[index] ?? idle)));
    expect(takeCommits()).toBe(1);
    expect(await openItems()).toHaveLength(3);
  });

  it("has a transaction of its own when it writes very much", async () => {
    const { targets, takeCommits, openItems } = await openShared(3);
    const many = Array.from({ length: 520 }, (_, server) => [`s${server}`, "error"] as const);
    const outcomes = [inError, listing(Object.fromEntries(many)), inError];
    await Promise.all(targets.map(({ commit }, index) => commit(outcomes[index] ?? idle)));
    expect(takeCommits()).toBe(3);
    expect(await openItems()).toHaveLength(522);
  });

  it("follows what its target had to commit before", async () => {
    const { store, targets } = await openShared(1);
    const [only] = targets;
    await Promise.all([only?.commit(idle), only?.commit(inError), only?.commit(idle, 45)]);
    const [stored] = await store.targets.all();
    expect(stored?.progress.attempted).toEqual({ polls: 4, ms: 30_000 + 30_000 + 45_000 });
    const snapshot = await store.targets.snapshotOf(only?.id ?? 0);
    expect(findServer(snapshot, "box", "a")?.status).toBe("idle");
  });

  it("is not stored when one that is committed with it cannot be", async () => {
    const { store, targets, pollsOf, openItems } = await openShared(4);
    const [before, spoilt, quiet, after] = targets;
    const verdict = spoilt?.poll(inError);
    if (!verdict) throw new Error("there is no such target");
    const progress = { ...verdict.progress, lastPollAtMs: 0.5 };
    const unstorable = { ...verdict, progress };
    const commits = await Promise.allSettled([
      before?.commit(inError),
      quiet?.commit(idle),
      store.commitPoll(spoilt?.id ?? 0, unstorable),
      after?.commit(inError),
    ]);
    expect(commits.map(({ status }) => status)).toEqual(commits.map(() => "rejected"));
    expect(await pollsOf()).toEqual([1, 1, 1, 1]);
    expect(await openItems()).toEqual([]);
  });

  it("is stored when it is committed again, whatever is committed at the same time", async () => {
    const { store, targets, pollsOf, openItems } = await openShared(3);
    const [sound, ...spoilt] = targets;
    const verdict = sound?.poll(inError);
    if (!verdict) throw new Error("there is no such target");
    const unstorable = { ...verdict, progress: { ...verdict.progress, lastPollAtMs: 0.5 } };
    const commitWith = (other: (typeof targets)[number] | undefined) =>
      Promise.allSettled([
        store.commitPoll(other?.id ?? 0, unstorable),
        store.commitPoll(sound?.id ?? 0, verdict),
      ]);
    const rejected = { status: "rejected" };
    expect(await commitWith(spoilt[0])).toMatchObject([rejected, rejected]);
    expect(await commitWith(spoilt[1])).toMatchObject([rejected, { status: "fulfilled" }]);
    expect(await pollsOf()).toEqual([2, 1, 1]);
    expect(await openItems()).toHaveLength(1);
  });

  it("takes numbers of the sequence once all else of the transaction is written", async () => {
    const { statements, targets } = await openShared(3);
    statements.length = 0;
    await Promise.all(targets.map(({ commit }) => commit(inError)));
    const after = statements.slice(
      statements.findIndex((statement) => statement.startsWith('update "commit_sequence"')),
    );
    expect(after.length).toBeLessThan(statements.length);
    expect(
      after.filter((each) => /"(?:targets|sandboxes|servers|gaps)"? set|into "?servers/.test(each)),
    ).toEqual([]);
  });
});

it("calls at the same time see nothing of a transaction that has not ended", async () => {
  const { kysely, store } = await openShared(0);
  const ending = Promise.withResolvers<void>();
  const undone = kysely.transaction().execute(async (trx) => {
    await sql`insert into notifications (id, receiver, state, created_at_ms, caused_at_ms,
      attempts, next_attempt_at_ms, give_up_at_ms, body)
      values ('n-1', 'oncall', 'dead', 0, 0, 0, 0, 0, '{}')`.execute(trx);
    await ending.promise;
    throw new Error("undone");
  });
  let figures: unknown = "waiting";
  const asked = store.outbox.figures().then((found) => (figures = found));
  await turn();
  expect(figures).toBe("waiting");
  ending.resolve();
  await expect(undone).rejects.toThrow("undone");
  await asked;
  expect(figures).toEqual([]);
});
