import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statuses } from "../../../src/fleet/model.ts";
import { resolutions } from "../../../src/fleet/buckets.ts";
import type { StoredChange } from "../../../src/store/changes.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { play } from "../../support/history/play.ts";
import { recordsOf } from "../../support/history/poll-record.ts";
import { forwardSteps, scripts, type Script } from "../../support/history/script.ts";
import { rebuiltTimes, trueTimes } from "../../support/history/server-times.ts";
import { keepInStore, type StoreKeeper } from "../../support/history/store-keeper.ts";
import { trueBuckets } from "../../sim/oracle/buckets.ts";
import { truthOf, type Truth } from "../../sim/oracle/truth.ts";
import { research } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  const runs = { numRuns: engine.runs(15) };

  /** Plays a script with a real store, and gives what must be found there. */
  async function playInStore(script: Script, keeper: StoreKeeper): Promise<Truth> {
    await play(script, research, keeper);
    const [known] = await keeper.store.targets.all();
    if (known) await keeper.settle(known.id);
    return truthOf(recordsOf(script), script.goneAfter);
  }

  describe.each([
    ["of a world", 1],
    ["of polls that were imported, seven at once,", 7],
  ])("what the store has %s", (_, atOnce) => {
    it("is in buckets of every resolution what the world's script says", async () => {
      const property = fc.asyncProperty(scripts(forwardSteps), async (script) => {
        await using keeper = await keepInStore(atOnce, engine);
        const truth = await playInStore(script, keeper);
        for (const resolution of resolutions) {
          const found = await bucketsIn(keeper.store.occupancy, { resolution });
          const held = found
            .map(({ bucket }) => bucket)
            .filter(({ recordedMs, names }) => recordedMs > 0 || names.size > 0);
          expect(held).toEqual(trueBuckets(truth, resolution));
        }
      });
      await expect(fc.assert(property, runs)).resolves.toBeUndefined();
    });

    it("has all unobserved time as gaps, each as one however many polls are in it", async () => {
      const property = fc.asyncProperty(scripts(forwardSteps), async (script) => {
        await using keeper = await keepInStore(atOnce, engine);
        const truth = await playInStore(script, keeper);
        const found = await collect(keeper.store.occupancy.gaps({ target: research, ...always }));
        expect(found).toEqual(trueGaps(truth));
      });
      await expect(fc.assert(property, runs)).resolves.toBeUndefined();
    });

    it("has the changes and gaps of each server, with the dwell times that ended", async () => {
      const property = fc.asyncProperty(scripts(forwardSteps), async (script) => {
        await using keeper = await keepInStore(atOnce, engine);
        const truth = await playInStore(script, keeper);
        const found = await changesOf(keeper);
        const expected = truth.changes.map(({ server, ...change }) => {
          return { ...change, serverId: server.split(" ")[1] ?? "" };
        });
        const linesOf = (all: readonly Line[]): readonly string[] =>
          all
            .map(({ atMs, serverId, from, to, dwellMs, observation }) =>
              JSON.stringify([atMs, serverId, from, to, dwellMs, observation]),
            )
            .toSorted();
        expect(linesOf(found)).toEqual(linesOf(expected));
      });
      await expect(fc.assert(property, runs)).resolves.toBeUndefined();
    });

    it("has how long each server was in each status, which adds up to the buckets", async () => {
      const property = fc.asyncProperty(scripts(fc.constant(0)), async (script) => {
        await using keeper = await keepInStore(atOnce, engine);
        const truth = await playInStore(script, keeper);
        const gaps = await collect(keeper.store.occupancy.gaps({ target: research, ...always }));
        const endMs = truth.stretches.at(-1)?.toMs ?? 0;
        const rebuilt = rebuiltTimes(await changesOf(keeper), gaps, endMs);
        expect(rebuilt).toEqual(trueTimes(truth));

        const days = await bucketsIn(keeper.store.occupancy, { resolution: "1d" });
        const accounts = days.flatMap(({ bucket }) => [...bucket.names.values()]);
        for (const status of [...statuses, "unobserved"] as const) {
          const ofServers = [...rebuilt.values()].map((times) => times.get(status) ?? 0);
          const ofNames = accounts.map(({ ms, unobservedMs }) =>
            status === "unobserved" ? unobservedMs : ms[status],
          );
          expect(sum(ofServers)).toBe(sum(ofNames));
        }
      });
      await expect(fc.assert(property, runs)).resolves.toBeUndefined();
    });
  });

  type Line = Pick<StoredChange, "atMs" | "serverId" | "from" | "to" | "dwellMs" | "observation">;

  function changesOf({ store }: StoreKeeper): Promise<readonly StoredChange[]> {
    return collect(store.changes.between({ ...always, direction: "asc", observations: true }));
  }

  function sum(numbers: readonly number[]): number {
    return numbers.reduce((total, each) => total + each, 0);
  }

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
});
