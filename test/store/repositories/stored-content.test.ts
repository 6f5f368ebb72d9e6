import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { statuses } from "../../../src/fleet/model.ts";
import { judgePoll } from "../../../src/alerts/judge.ts";
import type { ListedSandbox, ListedServer } from "../../../src/fleet/snapshot.ts";
import { openStore } from "../../../src/store/store.ts";
import {
  judgeBy,
  listing,
  research,
  serverError,
  targetBlind,
  watchFleet,
} from "../../support/fleet.ts";
import { startMs, toOutcome } from "../../support/fleet.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { contentOf, contentOfTarget, openPollStore } from "../support/poll-store.ts";
import type { Listing } from "../../support/listing.ts";
import { engines, sqliteIn } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  describe("what is loaded is what was committed", () => {
    const text = fc.constantFrom("a", "b", "c", "quote ' \"", "line \n", "沙箱 🏖", "__proto__");
    const optional = fc.option(text, { nil: null });
    const status = fc.constantFrom(...statuses);
    const servers = fc.uniqueArray(
      fc.record<ListedServer>({
        id: text,
        name: optional,
        status,
        benchmark: optional,
        tags: fc.array(text, { maxLength: 2 }),
      }),
      { selector: ({ id }) => id, maxLength: 4 },
    );
    const sandboxes = fc.uniqueArray(
      fc.record<ListedSandbox>({ id: text, status, benchmark: optional, servers }),
      { selector: ({ id }) => id, maxLength: 4 },
    );
    const outcome = fc.oneof(
      { weight: 4, arbitrary: fc.record<Listing>({ sandboxes, complete: fc.boolean() }) },
      { weight: 1, arbitrary: fc.constant("failed" as const) },
    );

    it("after any polls", async () => {
      const rules = [
        serverError,
        targetBlind,
        { ...serverError, name: "lasting", keepFiringForMs: 45_000, remindEveryMs: 30_000 },
        { ...serverError, name: "patient", for: { kind: "polls", polls: 2 } as const },
      ];
      await fc.assert(
        fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 8 }), async (outcomes) => {
          await using opened = await openPollStore(engine);
          const { store, targetId, rows } = opened;
          const { watched, poll } = watchFleet(research, { judge: judgeBy(rules), id: targetId });
          let changes = 0;
          let told = 0;
          for (const each of outcomes) {
            const verdict = poll(each, 30.25);
            await store.commitPoll(targetId, verdict);
            changes += verdict.diff.changes.length + verdict.diff.gaps.length;
            told += verdict.incidents.outbox.length;
          }
          expect(await contentOf(store)).toEqual(contentOfTarget(watched));
          expect(await rows("changes")).toHaveLength(changes);
          expect((await store.outbox.openItems("oncall", 1_000)).length).toBe(told);
        }),
        { numRuns: engine.runs(60) },
      );
    });

    it("through restarts and commits that were lost", async () => {
      const luck = fc.constantFrom("well", "well", "restart", "lost");
      const turns = fc.array(fc.tuple(outcome, luck), { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(turns, async (played) => {
          await using opened = await openPollStore(engine);
          let store = opened.restart();
          const judge = judgeBy();
          const start = async () => {
            store = opened.restart();
            const [stored] = await store.targets.all();
            if (!stored) throw new Error("the target is not stored");
            const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
            return watchTarget(stored, await store.targets.snapshotOf(stored.id), options);
          };
          let watched = await start();
          const outcomes: string[] = [];
          const kept: boolean[] = [];
          for (const [turn, [polled, fate]] of played.entries()) {
            const passedMs = turn * 100_000;
            const at = { utcMs: startMs + passedMs, monotonicMs: 1_000 + passedMs };
            const verdict = judgePoll(watched.state, toOutcome(polled), at, judge);
            if (fate === "lost") {
              const before = await opened.everything();
              // The last row that a poll writes is refused where it has changes, else its first one.
              const hasChanges = verdict.diff.changes.length + verdict.diff.gaps.length > 0;
              const spoilt = hasChanges
                ? { ...verdict, at: { ...at, utcMs: 0.5 } }
                : { ...verdict, progress: { ...verdict.progress, lastPollAtMs: 0.5 } };
              const [lost] = await Promise.allSettled([store.commitPoll(watched.id, spoilt)]);
              outcomes.push(lost?.status ?? "");
              kept.push(JSON.stringify(await opened.everything()) === JSON.stringify(before));
              watched.losePoll();
            } else {
              await store.commitPoll(watched.id, verdict);
              watched.accept(verdict);
            }
            expect(await contentOf(store)).toEqual(contentOfTarget(watched));
            if (fate !== "restart") continue;
            watched = await start();
          }
          expect(new Set([...outcomes, "rejected"])).toEqual(new Set(["rejected"]));
          expect(kept).not.toContain(false);
        }),
        { numRuns: engine.runs(60) },
      );
    });

    it.runIf(engine.name === "SQLite")("also by the next process", async () => {
      const path = `${tempFolder()}/store.db`;
      const first = await openPollStore(sqliteIn(path));
      const { watched, poll } = watchFleet();
      await first.store.commitPoll(first.targetId, poll(listing({ a: "idle", b: "error" })));
      await first.store.close();
      const second = openStore(path);
      onTestFinished(() => second.close());
      expect(await contentOf(second)).toEqual(contentOfTarget(watched));
    });
  });
});
