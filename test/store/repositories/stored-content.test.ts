import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgePoll, type Verdict } from "../../../src/alerts/judge.ts";
import type { Diff } from "../../../src/fleet/diff.ts";
import { resolutions } from "../../../src/fleet/buckets.ts";
import { changesOf } from "../../../src/store/change-rows.ts";
import { statuses } from "../../../src/fleet/model.ts";
import type { ListedSandbox, ListedServer } from "../../../src/fleet/snapshot.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import { allTime } from "../../../src/reports/time-range.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import {
  judgeBy,
  research,
  serverError,
  startMs,
  targetDown,
  toOutcome,
  watchFleet,
} from "../../support/fleet.ts";
import type { Listing } from "../../support/listing.ts";
import { engines } from "../support/engines.ts";
import {
  contentOf,
  contentOfTarget,
  openPollStore,
  type PollStore,
} from "../support/poll-store.ts";

describe.each(engines)("what is stored on $name", (engine) => {
  const text = fc.constantFrom("a", "b", "c", "quote ' \"", "line \n", "沙箱 🏖", "__proto__");
  const optional = fc.option(text, { nil: null });
  const status = fc.constantFrom(...statuses, "error" as const, null);
  const selector = ({ id }: { readonly id: string }): string => id;
  const servers = fc.uniqueArray(
    fc.record<ListedServer>({
      id: text,
      name: optional,
      status,
      benchmark: optional,
      tags: fc.array(text, { maxLength: 2 }),
    }),
    { selector, maxLength: 4 },
  );
  const sandboxes = fc.uniqueArray(
    fc.record<ListedSandbox>({
      id: text,
      status,
      benchmark: optional,
      createdAt: fc.constantFrom(null, 0, 1_771_275_925_770),
      servers,
    }),
    { selector, maxLength: 4 },
  );
  const outcome = fc.oneof(
    { weight: 4, arbitrary: fc.record<Listing>({ sandboxes, complete: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant("failed" as const) },
  );
  const outcomes = fc.array(outcome, { minLength: 1, maxLength: 12 });
  const rules = [
    { ...serverError, flap: { changes: 1, withinMs: 600_000 } },
    { ...targetDown, for: { kind: "polls", polls: 2 } as const },
    { ...serverError, name: "lasting", keepFiringForMs: 45_000, remindEveryMs: 30_000 },
    { ...serverError, name: "later", for: { kind: "polls", polls: 2 } as const },
  ];

  const spoil = (diff: Diff): Diff => ({
    ...diff,
    sandboxes: diff.sandboxes.map((each) => ({ ...each, dwellMs: 0.5 })),
    servers: diff.servers.map((each) => ({ ...each, dwellMs: 0.5 })),
  });
  const changesIn = (diff: Diff) => Object.values(changesOf(diff)).flat();

  /** All that follows from polls, but for numbers that count what was written. */
  async function resultsOf({ store, rows }: PollStore): Promise<unknown> {
    const sorted = async (table: string): Promise<readonly string[]> =>
      (await rows(table)).map((row) => JSON.stringify({ ...row, revision: null })).toSorted();
    const query = { ...allTime, direction: "asc", observations: true } as const;
    const changes = await collect(store.changes.ofSubjects(query));
    return {
      tables: await Promise.all(["incidents", "flap_records", "outbox_items", "gaps"].map(sorted)),
      changes: changes.map((change) => ({ ...change, cursor: null })),
      buckets: await Promise.all(
        resolutions.map((resolution) => bucketsIn(store.occupancy, { resolution })),
      ),
    };
  }

  it("is what was committed, one by one or several imported at once", async () => {
    await fc.assert(
      fc.asyncProperty(outcomes, fc.integer({ min: 1, max: 12 }), async (played, atOnce) => {
        await using one = await openPollStore(engine);
        await using other = await openPollStore(engine);
        const { watched, poll } = watchFleet(research, { judge: judgeBy(rules), id: one.targetId });
        const verdicts: Verdict[] = [];
        for (const each of played) verdicts.push(poll(each, 30.25));
        for (const verdict of verdicts) await one.store.commitPoll(one.targetId, verdict);
        for (let from = 0; from < verdicts.length; from += atOnce) {
          await other.store.importPolls(other.targetId, verdicts.slice(from, from + atOnce));
        }
        for (const { store } of [one, other]) {
          expect(await contentOf(store)).toEqual(contentOfTarget(watched));
        }
        expect(await resultsOf(other)).toEqual(await resultsOf(one));
        const changes = verdicts.flatMap(({ diff }) => changesIn(diff));
        expect(await one.rows("changes")).toHaveLength(changes.length);
      }),
      { numRuns: engine.runs(15) },
    );
  });

  it("is found by the next process, through restarts and commits that were lost", async () => {
    const fate = fc.constantFrom("stored", "stored", "restart", "lost");
    const polls = fc.array(fc.tuple(outcome, fate), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(polls, async (played) => {
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
        const [left, expected]: [unknown[], unknown[]] = [[], []];
        for (const [number, [polled, happens]] of played.entries()) {
          const passedMs = number * 100_000;
          const at = { utcMs: startMs + passedMs, monotonicMs: 1_000 + passedMs };
          const verdict = judgePoll(watched.state, toOutcome(polled), at, judge);
          if (happens === "lost") {
            const before = await opened.everything();
            // The last row that a poll writes is refused where it has changes, else its first one.
            const hasChanges = changesIn(verdict.diff).length > 0;
            const spoilt = hasChanges
              ? { ...verdict, diff: spoil(verdict.diff) }
              : { ...verdict, progress: { ...verdict.progress, lastPollAtMs: 0.5 } };
            const [lost] = await Promise.allSettled([store.commitPoll(watched.id, spoilt)]);
            left.push([lost?.status, JSON.stringify(await opened.everything())]);
            expected.push(["rejected", JSON.stringify(before)]);
            watched.losePoll();
          } else {
            await store.commitPoll(watched.id, verdict);
            watched.accept(verdict);
          }
          expect(await contentOf(store)).toEqual(contentOfTarget(watched));
          if (happens === "restart") watched = await start();
        }
        expect(left).toEqual(expected);
      }),
      { numRuns: engine.runs(15) },
    );
  });
});
