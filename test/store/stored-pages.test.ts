import * as fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { judgePoll } from "../../src/core/judge.ts";
import type { PollOutcome } from "../../src/core/judge.ts";
import type { Snapshot } from "../../src/core/snapshot/snapshot.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { createSnapshotPages } from "../../src/store/snapshot-pages.ts";
import { createStore } from "../../src/store/store.ts";
import { worlds } from "../core/support/listing-edits.ts";
import type { World } from "../core/support/listing-edits.ts";
import { listedServer } from "../core/support/samples.ts";
import { judgeBy, research, startMs } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";
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

/** Many changes of many servers, until the pages are stored whole and the edits begin anew. */
it("what is stored outlives failed polls, however many edits are kept beside the pages", async () => {
  const { kysely, close } = openFresh();
  onTestFinished(close);
  const store = createStore(kysely, close);
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
  for (let turn = 0; turn < 12; turn++) {
    const sandboxes = Array.from({ length: 4_000 }, (_, index) => ({
      sandboxId: uuidOf(index),
      status: "idle" as const,
      benchmark: null,
      servers: [listedServer(uuidOf(index), index % 10 === turn % 10 ? "error" : "idle")],
    }));
    const intake = intakeOf(watched.state.snapshot, sandboxes, 2);
    await poll({ kind: "listed", intake, complete: true });
    await poll({ kind: "failed", reason: "timeout" });
    const restored = await createSnapshotPages(kysely).restore(stored.id);
    expect(rowsOf(restored)).toEqual(rowsOf(watched.state.snapshot));
  }
});

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
