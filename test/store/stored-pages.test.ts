import * as fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { judgePoll } from "../../src/core/judge.ts";
import type { PollOutcome } from "../../src/core/judge.ts";
import type { ListedSandbox, Status } from "../../src/core/model.ts";
import type { Snapshot } from "../../src/core/snapshot/snapshot.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { openDatabase } from "../../src/store/database.ts";
import { createRowReading } from "../../src/store/row-reading.ts";
import { createSnapshotPages } from "../../src/store/snapshot-pages.ts";
import { createStore } from "../../src/store/store.ts";
import { wordsOf } from "../../src/store/word-bytes.ts";
import { worlds } from "../core/support/listing-edits.ts";
import type { World } from "../core/support/listing-edits.ts";
import { listedServer } from "../core/support/samples.ts";
import { judgeBy, research, startMs } from "../support/fleet.ts";
import { freshStoreFile, openFresh } from "../support/fresh-store.ts";
import { intakeOf } from "../support/take-in.ts";
import { addTarget } from "../support/add-target.ts";

function rowsOf(snapshot: Snapshot): readonly string[] {
  return [...snapshot.sandboxes(), ...snapshot.servers()]
    .map((row) => JSON.stringify(row))
    .toSorted();
}

/** Polls on one store; now and then the process starts anew, or a commit is lost. */
async function play({ polls, goneAfter }: World, luck: readonly ("restart" | "lost" | "well")[]) {
  const { kysely, close } = openFresh();
  try {
    let store = createStore(kysely, close);
    const judge = { ...judgeBy([]), goneAfter };
    const { id } = await addTarget(store, research);
    const start = async () => {
      const stored = (await store.targets.all()).find((each) => each.id === id);
      if (!stored) throw new Error("the target is not stored");
      const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
      return watchTarget(stored, await store.targets.snapshotOf(id), options);
    };
    let watched = await start();
    const broken: string[] = [];
    for (const [turn, { listing }] of polls.entries()) {
      const { sandboxes, complete } = listing;
      const intake = intakeOf(watched.state.snapshot, sandboxes, goneAfter);
      const at = { utcMs: startMs + turn * 30_000, monotonicMs: 1_000 + turn * 30_000 };
      const verdict = judgePoll(watched.state, { kind: "listed", intake, complete }, at, judge);
      const before = rowsOf(watched.state.snapshot);
      if (luck[turn] === "lost") {
        const spoilt = { ...verdict, at: { ...at, utcMs: 0.5 } };
        const commit = store.commitPoll(id, spoilt);
        // Without a change or a lapse nothing of it can be spoilt.
        const { length, lapseCount } = verdict.changes;
        const outcome = length + lapseCount > 0 ? "rejected" : "fulfilled";
        const [settled] = await Promise.allSettled([commit]);
        const kept = outcome === "rejected" ? before : rowsOf(verdict.snapshot);
        const stored = rowsOf(await createSnapshotPages(kysely).restore(id));
        broken.push(...(settled?.status === outcome ? [] : [`turn ${turn} ${outcome}`]));
        broken.push(...(stored.join() === kept.join() ? [] : [`turn ${turn} stored`]));
        if (outcome === "fulfilled") watched.accept(verdict);
        else watched.loseTurn();
        continue;
      } else await store.commitPoll(id, verdict);
      watched.accept(verdict);
      const restored = await createSnapshotPages(kysely).restore(id);
      expect(rowsOf(restored)).toEqual(rowsOf(verdict.snapshot));
      if (luck[turn] !== "restart") continue;
      store = createStore(kysely, close);
      watched = await start();
    }
    expect(broken).toEqual([]);
  } finally {
    await close();
  }
}

/** A target of a fresh store, polled every half minute. */
async function watchResearch() {
  const { kysely, close } = openFresh();
  onTestFinished(close);
  let store = createStore(kysely, close);
  const judge = judgeBy([]);
  const stored = await addTarget(store, research);
  const snapshot = await store.targets.snapshotOf(stored.id);
  const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
  const watched = watchTarget(stored, snapshot, options);
  let nowMs = 1_000;
  const poll = async (outcome: PollOutcome): Promise<void> => {
    nowMs += 30_000;
    const at = { utcMs: startMs + nowMs, monotonicMs: nowMs };
    const verdict = judgePoll(watched.state, outcome, at, judge);
    await store.commitPoll(stored.id, verdict);
    watched.accept(verdict);
  };
  return {
    kysely,
    fail: () => poll({ kind: "failed", reason: "timeout" }),
    list(sandboxes: readonly ListedSandbox[], complete = true) {
      const intake = intakeOf(watched.state.snapshot, sandboxes, 2);
      return poll({ kind: "listed", intake, complete });
    },
    rows: () => rowsOf(watched.state.snapshot),
    restoredRows: async () => rowsOf(await createSnapshotPages(kysely).restore(stored.id)),
    /** What is written from now on is by another process. */
    async restart() {
      store = createStore(kysely, close);
      await store.targets.snapshotOf(stored.id);
    },
    async editBytes() {
      const edits = await kysely.selectFrom("page_edits").select("words").execute();
      return edits.reduce((sum, { words }) => sum + words.length, 0);
    },
  };
}

/** Many changes of many servers, until the pages are stored whole and the edits begin anew. */
it("what is stored outlives failed polls, however many edits are kept beside the pages", async () => {
  const target = await watchResearch();
  for (let turn = 0; turn < 12; turn++) {
    await target.list(
      Array.from({ length: 4_000 }, (_, index) => ({
        sandboxId: uuidOf(index),
        status: "idle",
        benchmark: null,
        servers: [listedServer(uuidOf(index), index % 10 === turn % 10 ? "error" : "idle")],
      })),
    );
    await target.fail();
    expect(await target.restoredRows()).toEqual(target.rows());
  }
});

describe("where all servers change", () => {
  const sandboxes = (status: Status): readonly ListedSandbox[] =>
    Array.from({ length: 1_000 }, (_, index) => ({
      sandboxId: uuidOf(index),
      status,
      benchmark: null,
      servers: [0, 1, 2, 3].map((server) => listedServer(uuidOf(index * 4 + server), status)),
    }));

  it("their statuses are stored, and not their pages", async () => {
    const target = await watchResearch();
    await target.list(sandboxes("idle"));
    await target.list(sandboxes("occupied"));
    const pages = await target.kysely.selectFrom("pages").select("records").execute();
    const bytes = pages.reduce((sum, { records }) => sum + records.length, 0);
    expect(await target.editBytes()).toBeGreaterThan(0);
    expect(await target.editBytes()).toBeLessThan(bytes / 40);
    expect(await target.restoredRows()).toEqual(target.rows());
  });

  it.each([
    ["by one process", false],
    ["by one process after the other", true],
  ])("their pages are stored now and then, or a start would take long: %s", async (_, restarts) => {
    const target = await watchResearch();
    const whole: number[] = [];
    for (let turn = 1; turn <= 20; turn++) {
      await target.list(sandboxes(turn % 2 === 0 ? "idle" : "occupied"));
      expect(await target.restoredRows()).toEqual(target.rows());
      if ((await target.editBytes()) === 0) whole.push(turn);
      if (restarts) await target.restart();
    }
    expect(whole).toEqual([1, 10, 19]);
  });
});

it.each([
  ["an edit of which bytes are lacking", "update page_edits set words = x'0700000001'"],
  [
    "an edit of another page's words",
    "update page_edits set words = x'0100000001000000ffffffff00000000'",
  ],
  ["a page of which bytes are lacking", "update pages set records = x'00'"],
  ["a page without names", "update pages set legend = '['"],
])("a target with a page that cannot be read starts without a snapshot: %s", async (_, damage) => {
  const path = freshStoreFile();
  const { kysely, close } = openDatabase(path);
  onTestFinished(close);
  const { id } = await addTarget(createStore(kysely, close), research);
  const page = { target_id: id, page_id: 1, last_edit: 0, sandbox_count: 0, legend: '[[""],[]]' };
  await kysely
    .insertInto("pages")
    .values({ ...page, records: new Uint8Array(32) })
    .execute();
  await kysely
    .insertInto("page_edits")
    .values({ target_id: id, words: new Uint8Array(0) })
    .execute();
  const reading = createRowReading();
  const stored = createSnapshotPages(kysely, reading);
  expect((await stored.restore(id)).pages).toHaveLength(1);
  await sql.raw(damage).execute(kysely);
  expect((await stored.restore(id)).pages).toEqual([]);
  expect([...(reading.unreadable.get("pages") ?? [])]).toEqual([`of target ${id}`]);
});

it("of pages that are written anew as they were nothing is stored", async () => {
  const target = await watchResearch();
  const listed = Array.from({ length: 3 }, (_, index) => ({
    sandboxId: uuidOf(index),
    status: "idle" as const,
    benchmark: null,
    servers: [listedServer(uuidOf(index), "idle")],
  }));
  await target.list(listed);
  await target.list(listed.slice(0, 2), false);
  expect(await target.editBytes()).toBe(0);
  expect(await target.restoredRows()).toEqual(target.rows());
});

it("whatever is less is stored of a page: its statuses, or the words that differ", async () => {
  const target = await watchResearch();
  const sandboxes = (isOccupied: (sandbox: number) => boolean): readonly ListedSandbox[] =>
    Array.from({ length: 96 }, (_, sandbox) => {
      const status = isOccupied(sandbox) ? "occupied" : "idle";
      const servers = [0, 1, 2, 3].map((server) =>
        listedServer(uuidOf(sandbox * 4 + server), status),
      );
      return { sandboxId: uuidOf(sandbox), status, benchmark: null, servers };
    });
  await target.list(sandboxes(() => false));
  // A page behind one of which much differs is a copy, however little differs of it.
  await target.list(sandboxes((sandbox) => sandbox < 40 || sandbox === 90));
  const [row] = await target.kysely.selectFrom("page_edits").select("words").execute();
  const words = wordsOf(row?.words ?? new Uint8Array(0));
  const restated = words[1] ?? 0;
  expect(restated).toBeGreaterThan(2 ** 31);
  expect(words[2 + restated - 2 ** 31 + 1]).toBeLessThan(20);
  expect(await target.restoredRows()).toEqual(target.rows());
});

it("with a server that comes to a page the page is stored", async () => {
  const target = await watchResearch();
  const sandbox = { sandboxId: uuidOf(0), status: "idle", benchmark: null } as const;
  const servers = Array.from({ length: 101 }, (_, server) => listedServer(uuidOf(server), "idle"));
  await target.list([{ ...sandbox, servers: servers.slice(0, 100) }]);
  await target.list([{ ...sandbox, servers }]);
  expect(await target.editBytes()).toBe(0);
  expect(await target.restoredRows()).toEqual(target.rows());
});

it.each([1, 99])(
  "of %i servers that are missing words are stored, and not the page",
  async (missing) => {
    const target = await watchResearch();
    const servers = Array.from({ length: 100 }, (_, server) =>
      listedServer(uuidOf(server), "idle"),
    );
    const sandbox = { sandboxId: uuidOf(0), status: "idle", benchmark: null } as const;
    await target.list([{ ...sandbox, servers }]);
    await target.list([{ ...sandbox, servers: servers.slice(0, 100 - missing) }]);
    expect(await target.editBytes()).toBeGreaterThan(0);
    expect(await target.restoredRows()).toEqual(target.rows());
  },
);

function uuidOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
}

const luck = fc.array(fc.constantFrom("well", "well", "restart", "lost"), {
  minLength: 12,
  maxLength: 12,
});

it.each([
  ["a few sandboxes", worlds(8, 12), 60],
  ["many pages", worlds(300, 8), 15],
] as const)(
  "what is stored is what was last committed, through restarts and lost commits: %s",
  async (_, arbitrary, numRuns) => {
    await fc.assert(fc.asyncProperty(arbitrary, luck, play), { numRuns });
  },
);
