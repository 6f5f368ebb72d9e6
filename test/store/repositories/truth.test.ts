import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addAccount,
  countedKinds,
  emptyAccount,
  resolutions,
  serverMsOf,
} from "../../../src/fleet/buckets.ts";
import type { Bucket, Counted, Resolution } from "../../../src/fleet/buckets.ts";
import { countDwells } from "../../../src/fleet/dwell.ts";
import { statuses } from "../../../src/fleet/model.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Unit } from "../../../src/store/unit-history.ts";
import { trueBuckets } from "../../sim/oracle/buckets.ts";
import { truthOf, type Truth } from "../../sim/oracle/truth.ts";
import { bucketsIn, collect } from "../../support/collect.ts";
import { research } from "../../support/fleet.ts";
import { play } from "../../support/history/play.ts";
import { recordsOf } from "../../support/history/poll-record.ts";
import { anySteps, forwardSteps, scripts } from "../../support/history/script.ts";
import {
  hourOf,
  joined,
  nonZero,
  sorted,
  sum,
  timesOf,
} from "../../support/history/true-answers.ts";
import { trueGaps, truePeaks, trueSums, trueTimeline } from "../../support/history/true-answers.ts";
import { rebuiltTimes, trueTimes } from "../../support/history/server-times.ts";
import { keepInStore } from "../../support/history/store-keeper.ts";
import { engines } from "../support/engines.ts";

/** Of all names, but for the peaks and how long each had no idle server. */
function sumOf({ startMs, recordedMs, unobservedMs, names }: Bucket) {
  const all = names.values().reduce(addAccount, emptyAccount);
  const { ms, unobservedMs: serverMs, dwells } = all;
  return { startMs, recordedMs, unobservedMs, ms, serverMs, dwells };
}

describe.each(engines)("what the store has of a world, on $name,", (engine) => {
  const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

  /** Plays worlds with a real store. @param check the truth of servers, then that of sandboxes */
  const ofAnyWorld = (
    steps: fc.Arbitrary<number>,
    check: (store: Store, truth: Truth, ofSandboxes: Truth) => Promise<void>,
    worlds = 12,
  ): Promise<void> =>
    fc.assert(
      fc.asyncProperty(scripts(steps), async (script) => {
        await using keeper = await keepInStore(engine);
        await play(script, research, keeper);
        const truthsOf = (of: "servers" | "sandboxes"): Truth =>
          truthOf(recordsOf(script, of), script.goneAfter);
        await check(keeper.store, truthsOf("servers"), truthsOf("sandboxes"));
      }),
      { numRuns: engine.runs(worlds) },
    );

  const gapsIn = async (store: Store) => (await store.occupancy.open()).gaps(research, always);
  const changesIn = (store: Store, subject: "server" | "sandbox" = "server") => {
    const query = { ...always, direction: "asc", observations: true, subject: [subject] } as const;
    return collect(store.changes.ofSubjects(query));
  };

  it("is in buckets of every resolution, by each value and in all, what the world's script says", () =>
    ofAnyWorld(
      forwardSteps,
      async ({ occupancy }, truth, ofSandboxes) => {
        const check = async (
          resolution: Resolution,
          all: Counted,
          kinds: readonly Counted[],
          of: Truth,
        ) => {
          const sums = (await bucketsIn(occupancy, { resolution, counted: all })).map(
            ({ bucket }) => sumOf(bucket),
          );
          for (const counted of kinds) {
            const found = (await bucketsIn(occupancy, { resolution, counted })).map(
              ({ bucket }) => bucket,
            );
            const held = found.filter(({ recordedMs, names }) => recordedMs > 0 || names.size > 0);
            expect(held).toEqual(trueBuckets(of, resolution));
            expect(found.map(sumOf)).toEqual(sums);
          }
        };
        for (const resolution of resolutions) {
          const kinds = ["server_name", "benchmark", "tag"] as const;
          await check(resolution, "server", kinds.slice(0, resolution === "5m" ? 1 : 3), truth);
          await check(resolution, "sandbox", ["sandbox_benchmark"], ofSandboxes);
        }
      },
      6,
    ));

  it("adds up however the wall clock is stepped: all time is recorded once", () =>
    ofAnyWorld(anySteps, async (store, { stretches, changes }) => {
      const lengths = stretches.map(({ fromMs, toMs }) => toMs - fromMs);
      const inStatus = (wanted: string | null): number =>
        sum(
          stretches.map(({ servers }, at) => {
            return servers.filter(({ status }) => status === wanted).length * (lengths[at] ?? 0);
          }),
        );
      const ended = changes.filter(({ from, dwellMs }) => from === "occupied" && dwellMs !== null);
      for (const resolution of resolutions) {
        const buckets = (await bucketsIn(store.occupancy, { resolution })).map(
          (each) => each.bucket,
        );
        const accounts = buckets.flatMap(({ names }) => [...names.values()]);
        expect({
          recordedMs: sum(buckets.map(({ recordedMs }) => recordedMs)),
          unobservedMs: sum(buckets.map(({ unobservedMs }) => unobservedMs)),
          serverMs: sum(accounts.map(serverMsOf)),
          byStatus: statuses.map((status) => sum(accounts.map(({ ms }) => ms[status]))),
          dwells: sum(accounts.map(({ dwells }) => countDwells(dwells))),
        }).toEqual({
          recordedMs: sum(lengths),
          unobservedMs: sum(lengths.filter((_, at) => stretches[at]?.observed === false)),
          serverMs: sum([...statuses, null].map(inStatus)),
          byStatus: statuses.map(inStatus),
          dwells: ended.length,
        });
      }
    }));

  it("is the same before and after it is rolled up, once or twice, whatever is counted", () =>
    ofAnyWorld(
      anySteps,
      async (store) => {
        const read = async () => {
          const all = resolutions.flatMap((resolution) =>
            countedKinds.map((counted) => bucketsIn(store.occupancy, { resolution, counted })),
          );
          return (await Promise.all(all)).map((some) =>
            some.map(({ bucket }) => ({ ...bucket, names: sorted(bucket.names) })),
          );
        };
        const derived = await read();
        while (await store.rollUp({ isByQuarter: true }));
        expect(await read()).toEqual(derived);
        expect(await store.rollUp({ isByQuarter: true })).toBe(false);
      },
      6,
    ));

  it("has all unobserved time as gaps", () =>
    ofAnyWorld(forwardSteps, async (store, truth) => {
      expect(joined(await gapsIn(store))).toEqual(trueGaps(truth));
    }));

  it("has the changes and observations of each server and sandbox, with the dwell times that ended", () =>
    ofAnyWorld(anySteps, async (store, truth, ofSandboxes) => {
      type Line = Pick<
        Truth["changes"][number],
        "atMs" | "from" | "to" | "dwellMs" | "observation"
      >;
      const lineOf = (id: string, { atMs, from, to, dwellMs, observation }: Line): string =>
        JSON.stringify([atMs, id, from, to, dwellMs, observation]);
      const found = [...(await changesIn(store)), ...(await changesIn(store, "sandbox"))].map(
        (each) =>
          lineOf(
            each.serverId === null ? each.sandboxId : `${each.sandboxId} ${each.serverId}`,
            each,
          ),
      );
      const expected = [...truth.changes, ...ofSandboxes.changes].map((each) =>
        lineOf(each.server, each),
      );
      expect(found.toSorted()).toEqual(expected.toSorted());
    }));

  it("has how long each server was in each status, which adds up to the buckets", () =>
    ofAnyWorld(fc.constant(0), async (store, truth) => {
      const endMs = truth.stretches.at(-1)?.toMs ?? 0;
      const rebuilt = rebuiltTimes(await changesIn(store), await gapsIn(store), endMs);
      expect(rebuilt).toEqual(trueTimes(truth));
      const days = await bucketsIn(store.occupancy, { resolution: "1d" });
      const accounts = days.flatMap(({ bucket }) => [...bucket.names.values()]);
      for (const status of [...statuses, "unobserved"] as const) {
        const ofServers = [...rebuilt.values()].map((times) => times.get(status) ?? 0);
        const ofNames = accounts.map(({ ms, unobservedMs }) =>
          status === "unobserved" ? unobservedMs : ms[status],
        );
        expect(sum(ofServers)).toBe(sum(ofNames));
      }
    }));

  const rangesOf = ({ stretches }: Truth) => {
    const [beginMs, endMs] = [stretches[0]?.fromMs ?? 0, stretches.at(-1)?.toMs ?? 0];
    const middleMs = Math.floor((beginMs + endMs) / 2);
    return [
      { fromMs: beginMs, toMs: endMs },
      { fromMs: 0, toMs: middleMs },
      { fromMs: middleMs, toMs: endMs },
    ];
  };

  it("has how each server and sandbox spent any range, and the peaks of several of them", () =>
    ofAnyWorld(anySteps, async ({ occupancy }, truth, ofSandboxes) => {
      const opened = await occupancy.open();
      for (const range of rangesOf(truth)) {
        const unitsBy = async (
          subject: "server" | "sandbox",
          keyOf: (unit: Unit, name: string) => string,
        ) => {
          const query = { ...range, untilMs: range.toMs, first: "", subject, keyOf };
          const cells = await collect(opened.units(research, query));
          return timesOf(new Map(cells.flatMap(({ bucket }) => [...bucket.names])));
        };
        const servers = await unitsBy("server", (unit) => `${unit.sandboxId} ${unit.serverId}`);
        expect(servers).toEqual(trueSums(truth, range, ({ server }) => server));
        const names = await unitsBy("server", ({ sandboxId }, name) => `${sandboxId} ${name}`);
        const boxOf = (server: string): string => server.split(" ")[0] ?? "";
        expect(names).toEqual(
          trueSums(truth, range, ({ server, name }) => `${boxOf(server)} ${name}`),
        );
        const sandboxes = await unitsBy("sandbox", ({ sandboxId }) => sandboxId);
        expect(sandboxes).toEqual(trueSums(ofSandboxes, range, ({ server }) => server));
        const hours = { ...range, fromMs: hourOf(range.fromMs) };
        for (const [counted, of] of [
          ["server_name", truth],
          ["sandbox_benchmark", ofSandboxes],
        ] as const) {
          const peaks = await opened.peaks({ ...hours, counted, groupOf: (_, value) => value });
          expect(nonZero(peaks ?? new Map())).toEqual(truePeaks(of, hours));
        }
      }
    }));

  it("has the timeline of each server and sandbox in any range", () =>
    ofAnyWorld(anySteps, async ({ occupancy }, truth, ofSandboxes) => {
      const { timeline } = await occupancy.open();
      for (const range of rangesOf(truth)) {
        for (const model of [truth, ofSandboxes]) {
          for (const subject of new Set([...model.changes.map(({ server }) => server), "none"])) {
            const [sandboxId = "", serverId = null] = subject.split(" ");
            const query = { ...range, sandboxId, serverId, isUp: false };
            const expected = { segments: trueTimeline(model, range, subject), truncated: false };
            expect(await timeline(research, query)).toEqual(expected);
          }
        }
      }
    }));
});
