import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as settle } from "node:timers/promises";
import { Kysely } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Status } from "../../src/fleet/model.ts";
import { findServer } from "../../src/fleet/snapshot.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { sqliteDialect } from "../../src/store/sqlite/dialect.ts";
import { createStore, openStore } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, watchFleet } from "../support/fleet.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { addTarget } from "../support/add-target.ts";

const windowMs = 100;
const idle = listing({ a: "idle" });
const inError = listing({ a: "error" });

/** A store on disk with as many targets that were polled once. */
async function openShared(targetCount: number) {
  const file = join(tempFolder(), "sandwatch.db");
  await openDatabase(file).close();
  const clock = createFakeClock();
  let commits = 0;
  const kysely = new Kysely<Tables>({
    dialect: sqliteDialect(new DatabaseSync(file, { enableForeignKeyConstraints: true })),
    log: ({ query }) => void (commits += query.sql === "commit" ? 1 : 0),
  });
  let closing: Promise<void> | undefined;
  const store = createStore(kysely, () => (closing ??= kysely.destroy()), { clock });
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
  return { file, clock, store, targets, takeCommits, pollsOf };
}

/** Whether it has settled by now, without waiting for it. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => void (settled = true);
  promise.then(note, note);
  for (let turn = 0; turn < 5; turn += 1) await settle();
  return settled;
}

describe("polls that changed nothing", () => {
  it("wait a moment for one another, and share one transaction", async () => {
    const { clock, targets, takeCommits, pollsOf } = await openShared(3);
    const commits = targets.map(({ commit }) => commit(idle));
    clock.advance(windowMs - 1);
    expect(await hasSettled(Promise.race(commits))).toBe(false);
    expect(await pollsOf()).toEqual([1, 1, 1]);
    clock.advance(1);
    await Promise.all(commits);
    expect(takeCommits()).toBe(1);
    expect(await pollsOf()).toEqual([2, 2, 2]);
    expect(clock.armed).toBe(0);
  });

  it("do not wait any longer once nobody else is about to come", async () => {
    const { clock, store, targets, takeCommits } = await openShared(2);
    const commits = targets.map(({ commit }) => commit(idle));
    store.commitGathered();
    await Promise.all(commits);
    expect(takeCommits()).toBe(1);
    expect(clock.armed).toBe(0);
  });

  it("do not wait when they are very many", async () => {
    const { clock, targets, takeCommits } = await openShared(100);
    await Promise.all(targets.map(({ commit }) => commit(idle)));
    expect(takeCommits()).toBe(1);
    expect(clock.armed).toBe(0);
  });

  it("are committed by closing", async () => {
    const { file, store, targets } = await openShared(2);
    const commits = targets.map(({ commit }) => commit(idle));
    await store.close();
    await Promise.all(commits);
    const again = openStore(file);
    onTestFinished(() => again.close());
    const stored = await again.targets.all();
    expect(stored.map(({ progress }) => progress.attempted.polls)).toEqual([2, 2]);
  });
});

describe("a poll with something to tell", () => {
  it("does not wait, and takes along those that do", async () => {
    const { clock, store, targets, takeCommits } = await openShared(3);
    const outcomes = [idle, idle, inError];
    await Promise.all(targets.map(({ commit }, index) => commit(outcomes[index] ?? idle)));
    expect(takeCommits()).toBe(1);
    expect(clock.armed).toBe(0);
    expect(await store.outbox.openItems("oncall", 9)).toHaveLength(1);
  });

  it("shares its transaction with others that end in the same turn of the event loop", async () => {
    const { store, targets, takeCommits } = await openShared(5);
    await Promise.all(targets.map(({ commit }) => commit(inError)));
    expect(takeCommits()).toBe(1);
    expect(await store.outbox.openItems("oncall", 9)).toHaveLength(5);
  });

  it("has a transaction of its own when it has very much to tell", async () => {
    const { store, targets, takeCommits } = await openShared(3);
    const [first, second, third] = targets;
    const many: Record<string, Status> = {};
    for (let server = 0; server < 520; server += 1) many[`s${server}`] = "error";
    await Promise.all([
      first?.commit(inError),
      second?.commit(listing(many)),
      third?.commit(inError),
    ]);
    expect(takeCommits()).toBe(3);
    expect(await store.outbox.openItems("oncall", 999)).toHaveLength(522);
  });

  it("follows what its target had to commit before", async () => {
    const { clock, store, targets } = await openShared(1);
    const [only] = targets;
    await Promise.all([only?.commit(idle), only?.commit(inError), only?.commit(idle, 45)]);
    const [stored] = await store.targets.all();
    expect(stored?.progress.attempted).toEqual({ polls: 4, ms: 30_000 + 30_000 + 45_000 });
    const snapshot = await store.targets.snapshotOf(only?.id ?? 0);
    expect(findServer(snapshot, "box", "a")?.status).toBe("idle");
    expect(clock.armed).toBe(0);
  });
});

it("a poll that cannot be committed takes no other with it", async () => {
  const { store, targets, pollsOf } = await openShared(4);
  const [before, spoilt, quiet, after] = targets;
  const verdict = spoilt?.poll(inError);
  if (!verdict) throw new Error("there is no such target");
  const unstorable = { ...verdict, at: { ...verdict.at, utcMs: Number.NaN } };
  const commits = await Promise.allSettled([
    before?.commit(inError),
    quiet?.commit(idle),
    store.commitPoll(spoilt?.id ?? 0, unstorable),
    after?.commit(inError),
  ]);
  expect(commits.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  expect(await pollsOf()).toEqual([2, 1, 2, 2]);
  const told = await store.outbox.openItems("oncall", 9);
  expect(told.map(({ incident }) => incident.id)).toEqual(["key-0-1", "key-3-1"]);
});
