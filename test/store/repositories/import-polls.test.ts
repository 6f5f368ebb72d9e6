import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../src/alerts/judge.ts";
import type { Status } from "../../../src/fleet/model.ts";
import {
  judgeBy,
  listing,
  research,
  serverError,
  targetBlind,
  watchFleet,
} from "../../support/fleet.ts";
import type { PollStore } from "../support/poll-store.ts";
import { allTime } from "../../../src/store/changes.ts";
import { resolutions } from "../../../src/fleet/buckets.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { contentOf, contentOfTarget, openPollStore } from "../support/poll-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const rules = [
    { ...serverError, flap: { changes: 1, withinMs: 600_000 } },
    { ...targetBlind, for: { kind: "polls", polls: 2 } as const },
  ];
  const shown = fc.dictionary(
    fc.constantFrom("a", "b", "c"),
    fc.constantFrom<Status>("idle", "occupied", "error", "error"),
  );
  const polls = fc.array(
    fc.oneof({ weight: 4, arbitrary: shown }, fc.constant("failed" as const)),
    {
      maxLength: 20,
    },
  );

  type Played = readonly (Readonly<Record<string, Status>> | "failed")[];

  function verdictsOf(played: Played) {
    const { poll, watched } = watchFleet(research, { judge: judgeBy(rules) });
    const verdicts: Verdict[] = [];
    for (const each of played) verdicts.push(poll(each === "failed" ? each : listing(each)));
    return { verdicts, watched };
  }

  /** But for their numbers, of which the revisions of incidents take some. */
  async function changesOf({ store }: PollStore): Promise<readonly unknown[]> {
    const all = store.changes.between({ ...allTime, direction: "asc", observations: true });
    return (await collect(all)).map((change) => ({ ...change, cursor: null }));
  }

  function sorted(rows: readonly object[]): readonly string[] {
    return rows.map((row) => JSON.stringify(row)).toSorted();
  }

  async function bucketsOf({ store }: PollStore): Promise<readonly unknown[]> {
    return Promise.all(resolutions.map((resolution) => bucketsIn(store.occupancy, { resolution })));
  }

  it("what is imported at once is what would be there had each poll been committed", async () => {
    await fc.assert(
      fc.asyncProperty(polls, fc.integer({ min: 1, max: 20 }), async (played, atOnce) => {
        await using one = await openPollStore(engine);
        const committed = verdictsOf(played);
        for (const verdict of committed.verdicts) await one.store.commitPoll(one.targetId, verdict);

        await using other = await openPollStore(engine);
        const { verdicts, watched } = verdictsOf(played);
        for (let from = 0; from < verdicts.length; from += atOnce) {
          await other.store.importPolls(other.targetId, verdicts.slice(from, from + atOnce));
        }
        expect(await contentOf(other.store)).toEqual(contentOfTarget(watched));
        for (const table of ["flap_records", "outbox_items", "gaps"]) {
          expect(sorted(await other.rows(table))).toEqual(sorted(await one.rows(table)));
        }
        expect(await changesOf(other)).toEqual(await changesOf(one));
        expect(await bucketsOf(other)).toEqual(await bucketsOf(one));
        const incidentsOf = async ({ rows }: typeof one): Promise<readonly string[]> =>
          (await rows("incidents"))
            // These count what was written, and that is less.
            .map((row) => JSON.stringify({ ...row, revision: null }))
            .toSorted();
        expect(await incidentsOf(other)).toEqual(await incidentsOf(one));
      }),
      { numRuns: engine.runs(40) },
    );
  });
});
