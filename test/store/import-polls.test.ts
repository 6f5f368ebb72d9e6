import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Verdict } from "../../src/core/judge.ts";
import type { Status } from "../../src/core/model.ts";
import {
  judgeBy,
  listing,
  research,
  serverError,
  targetBlind,
  watchFleet,
} from "../support/fleet.ts";
import { watchPieces } from "../core/support/unpacked.ts";
import { contentOf, contentOfTarget, openPollStore } from "./support/poll-store.ts";

const rules = [
  { ...serverError, flap: { changes: 1, withinMs: 600_000 } },
  { ...targetBlind, for: { kind: "polls", polls: 2 } as const },
];
const shown = fc.dictionary(
  fc.constantFrom("a", "b", "c"),
  fc.constantFrom<Status>("idle", "occupied", "error", "error"),
);
const polls = fc.array(fc.oneof({ weight: 4, arbitrary: shown }, fc.constant("failed" as const)), {
  maxLength: 20,
});

type Played = readonly (Readonly<Record<string, Status>> | "failed")[];

function verdictsOf(played: Played) {
  const { poll, watched } = watchFleet(research, { judge: judgeBy(rules) });
  const verdicts: Verdict[] = [];
  for (const each of played) verdicts.push(poll(each === "failed" ? each : listing(each)));
  return { verdicts, watched };
}

it("what is imported at once is what would be there had each poll been committed", async () => {
  await fc.assert(
    fc.asyncProperty(polls, fc.integer({ min: 1, max: 20 }), async (played, atOnce) => {
      const one = await openPollStore();
      const committed = verdictsOf(played);
      for (const verdict of committed.verdicts) await one.store.commitPoll(one.targetId, verdict);

      const other = await openPollStore();
      const { verdicts, watched } = verdictsOf(played);
      for (let from = 0; from < verdicts.length; from += atOnce) {
        await other.store.importPolls(other.targetId, verdicts.slice(from, from + atOnce));
      }
      expect(await contentOf(other.store)).toEqual(contentOfTarget(watched));
      for (const table of ["changes", "flap_records", "outbox_items"]) {
        expect(await other.rows(table)).toEqual(await one.rows(table));
      }
      const incidentsOf = async ({ rows }: typeof one): Promise<readonly string[]> =>
        (await rows("incidents"))
          // These count what was written, and that is less.
          .map((row) => JSON.stringify({ ...row, seq: null, revision: null }))
          .toSorted();
      expect(await incidentsOf(other)).toEqual(await incidentsOf(one));
    }),
    { numRuns: 40 },
  );
});

it("keeps no piece of changes that was stored, and none at all of what was imported", async () => {
  const { store, targetId } = await openPollStore();
  const { verdicts } = verdictsOf([{ a: "idle" }, { a: "error" }, { a: "idle" }]);
  const [first, ...others] = verdicts;
  if (!first) throw new Error("nothing was polled");
  const watch = watchPieces(first.changes);
  await store.commitPoll(targetId, first);
  expect(watch).toEqual({ asked: 1, left: 1 });

  const watches = others.map(({ changes }) => watchPieces(changes));
  const pieces = others.flatMap(({ changes }) => [...changes.pieces()]);
  await store.importPolls(targetId, others);
  expect(watches).toEqual(watches.map(() => ({ asked: 2, left: 1 })));
  expect(pieces.map(({ words }) => words.length)).toEqual([0, 0]);
});
