import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolutions } from "../../../src/fleet/buckets.ts";
import { statuses } from "../../../src/fleet/model.ts";
import type { Store } from "../../../src/store/store.ts";
import { trueBuckets } from "../../sim/oracle/buckets.ts";
import { truthOf, type Truth } from "../../sim/oracle/truth.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { research } from "../../support/fleet.ts";
import { play } from "../../support/history/play.ts";
import { recordsOf } from "../../support/history/poll-record.ts";
import { forwardSteps, scripts } from "../../support/history/script.ts";
import { rebuiltTimes, trueTimes } from "../../support/history/server-times.ts";
import { keepInStore } from "../../support/history/store-keeper.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("what the store has of a world, on $name,", (engine) => {
  const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

  /** Plays worlds with a real store. */
  const ofAnyWorld = (
    steps: fc.Arbitrary<number>,
    check: (store: Store, truth: Truth) => Promise<void>,
  ): Promise<void> =>
    fc.assert(
      fc.asyncProperty(scripts(steps), async (script) => {
        await using keeper = await keepInStore(engine);
        await play(script, research, keeper);
        await check(keeper.store, truthOf(recordsOf(script), script.goneAfter));
      }),
      { numRuns: engine.runs(20) },
    );

  const gapsIn = (store: Store) => collect(store.occupancy.gaps({ target: research, ...always }));
  const changesIn = (store: Store) =>
    collect(store.changes.between({ ...always, direction: "asc", observations: true }));

  it("is in buckets of every resolution what the world's script says", () =>
    ofAnyWorld(forwardSteps, async (store, truth) => {
      for (const resolution of resolutions) {
        const found = await bucketsIn(store.occupancy, { resolution });
        const held = found
          .map(({ bucket }) => bucket)
          .filter(({ recordedMs, names }) => recordedMs > 0 || names.size > 0);
        expect(held).toEqual(trueBuckets(truth, resolution));
      }
    }));

  it("has all unobserved time as gaps, each as one however many polls are in it", () =>
    ofAnyWorld(forwardSteps, async (store, truth) => {
      expect(await gapsIn(store)).toEqual(trueGaps(truth));
    }));

  it("has the changes and observations of each server, with the dwell times that ended", () =>
    ofAnyWorld(forwardSteps, async (store, truth) => {
      type Line = Pick<
        Truth["changes"][number],
        "atMs" | "from" | "to" | "dwellMs" | "observation"
      >;
      const lineOf = (serverId: string, { atMs, from, to, dwellMs, observation }: Line): string =>
        JSON.stringify([atMs, serverId, from, to, dwellMs, observation]);
      const found = (await changesIn(store)).map((each) => lineOf(each.serverId, each));
      const expected = truth.changes.map((each) => lineOf(each.server.split(" ")[1] ?? "", each));
      expect(found.toSorted()).toEqual(expected.toSorted());
    }));

  it("has how long each server was in each status, which adds up to the buckets", () =>
    ofAnyWorld(fc.constant(0), async (store, truth) => {
      const endMs = truth.stretches.at(-1)?.toMs ?? 0;
      const rebuilt = rebuiltTimes(await changesIn(store), await gapsIn(store), endMs);
      expect(rebuilt).toEqual(trueTimes(truth));
      const days = await bucketsIn(store.occupancy, { resolution: "1d" });
      const accounts = days.flatMap(({ bucket }) => [...bucket.names.values()]);
      const sum = (numbers: readonly number[]): number =>
        numbers.reduce((total, each) => total + each, 0);
      for (const status of [...statuses, "unobserved"] as const) {
        const ofServers = [...rebuilt.values()].map((times) => times.get(status) ?? 0);
        const ofNames = accounts.map(({ ms, unobservedMs }) =>
          status === "unobserved" ? unobservedMs : ms[status],
        );
        expect(sum(ofServers)).toBe(sum(ofNames));
      }
    }));
});

/** A clock that was stepped skipped unobserved time; a small difference is no step. */
const slackMs = 1_000;

function trueGaps({ stretches }: Truth): readonly { fromMs: number; toMs: number }[] {
  const gaps: { fromMs: number; toMs: number }[] = [];
  for (const [at, { fromMs, toMs, observed }] of stretches.entries()) {
    const beforeMs = stretches[at - 1]?.toMs ?? fromMs;
    const gap = { fromMs: beforeMs, toMs: observed ? fromMs : toMs };
    if (gap.toMs - gap.fromMs <= (observed ? slackMs : 0)) continue;
    const last = gaps.at(-1);
    if (last?.toMs === gap.fromMs) last.toMs = gap.toMs;
    else gaps.push(gap);
  }
  return gaps;
}
