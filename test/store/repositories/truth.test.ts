import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addAccount,
  countedKinds,
  emptyAccount,
  resolutions,
  serverMsOf,
} from "../../../src/fleet/buckets.ts";
import type { Bucket, NameAccount } from "../../../src/fleet/buckets.ts";
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

  const gapsIn = (store: Store) => store.occupancy.gaps({ target: research, ...always });
  const changesIn = (store: Store) =>
    collect(store.changes.between({ ...always, direction: "asc", observations: true }));

  it("is in buckets of every resolution, by name and in all, what the world's script says", () =>
    ofAnyWorld(forwardSteps, async ({ occupancy }, truth) => {
      for (const resolution of resolutions) {
        const found = (await bucketsIn(occupancy, { resolution })).map(({ bucket }) => bucket);
        const held = found.filter(({ recordedMs, names }) => recordedMs > 0 || names.size > 0);
        expect(held).toEqual(trueBuckets(truth, resolution));
        const all = await bucketsIn(occupancy, { resolution, counted: "server" });
        expect(all.map(({ bucket }) => sumOf(bucket))).toEqual(found.map(sumOf));
      }
    }));

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
    ofAnyWorld(anySteps, async (store) => {
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
    }));

  it("has all unobserved time as gaps", () =>
    ofAnyWorld(forwardSteps, async (store, truth) => {
      expect(joined(await gapsIn(store))).toEqual(trueGaps(truth));
    }));

  it("has the changes and observations of each server, with the dwell times that ended", () =>
    ofAnyWorld(anySteps, async (store, truth) => {
      type Line = Pick<Truth["changes"][number], "atMs" | "from" | "to" | "dwellMs">;
      const lineOf = (
        serverId: string,
        { atMs, from, to, dwellMs, observation }: Line & { readonly observation: string | null },
      ): string => JSON.stringify([atMs, serverId, from, to, dwellMs, observation]);
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
      for (const status of [...statuses, "unobserved"] as const) {
        const ofServers = [...rebuilt.values()].map((times) => times.get(status) ?? 0);
        const ofNames = accounts.map(({ ms, unobservedMs }) =>
          status === "unobserved" ? unobservedMs : ms[status],
        );
        expect(sum(ofServers)).toBe(sum(ofNames));
      }
    }));

  it("has how each server and sandbox spent any range, and the peaks of several of them", () =>
    ofAnyWorld(anySteps, async ({ occupancy }, truth) => {
      const [beginMs, endMs] = [truth.stretches[0]?.fromMs ?? 0, truth.stretches.at(-1)?.toMs ?? 0];
      const middleMs = Math.floor((beginMs + endMs) / 2);
      const opened = await occupancy.open();
      for (const range of [
        { fromMs: beginMs, toMs: endMs },
        { fromMs: 0, toMs: middleMs },
        { fromMs: middleMs, toMs: endMs },
      ]) {
        const unitsBy = async (keyOf: (unit: Unit, name: string) => string) => {
          const query = {
            ...range,
            untilMs: range.toMs,
            first: "",
            subject: "server",
            keyOf,
          } as const;
          const cells = await collect(opened.units(research, query));
          return new Map(cells.flatMap(({ bucket }) => [...bucket.names]));
        };
        const servers = await unitsBy(({ sandboxId, serverId }) => `${sandboxId} ${serverId}`);
        expect(timesOf(servers)).toEqual(trueSums(truth, range, ({ server }) => server));
        const names = await unitsBy(({ sandboxId }, name) => `${sandboxId} ${name}`);
        const boxOf = (server: string): string => server.split(" ")[0] ?? "";
        expect(timesOf(names)).toEqual(
          trueSums(truth, range, ({ server, name }) => `${boxOf(server)} ${name}`),
        );
        const query = { ...range, fromMs: hourOf(range.fromMs), counted: "server_name" } as const;
        const peaks = await opened.peaks({ ...query, groupOf: (_, name) => name });
        expect(nonZero(peaks ?? new Map())).toEqual(truePeaks(truth, query));
      }
    }));
});

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

type TrueServer = Truth["stretches"][number]["servers"][number];

function hourOf(atMs: number): number {
  return Math.floor(atMs / 3_600_000) * 3_600_000;
}

/** Milliseconds in each status and unobserved, by key; none that are all zero. */
function timesOf(accounts: ReadonlyMap<string, NameAccount>) {
  const times = accounts.entries().map(([key, { ms, unobservedMs }]) => {
    return [key, { ...ms, unobserved: unobservedMs }] as const;
  });
  const all = times.filter(([, each]) => sum(Object.values(each)) > 0);
  return Object.fromEntries([...all].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function trueSums(
  { stretches }: Truth,
  range: Range,
  keyOf: (server: TrueServer) => string,
): Readonly<Record<string, Record<string, number>>> {
  const sums: Record<string, Record<string, number>> = {};
  for (const { fromMs, toMs, servers } of stretches) {
    const ms = Math.min(toMs, range.toMs) - Math.max(fromMs, range.fromMs);
    for (const server of ms > 0 ? servers : []) {
      const nothing = { idle: 0, occupied: 0, error: 0, unknown: 0, unobserved: 0 };
      const own = (sums[keyOf(server)] ??= nothing);
      const status = server.status ?? "unobserved";
      own[status] = (own[status] ?? 0) + ms;
    }
  }
  return sums;
}

function nonZero(peaks: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map(peaks.entries().filter(([, peak]) => peak > 0));
}

function truePeaks({ stretches }: Truth, range: Range): ReadonlyMap<string, number> {
  const peaks = new Map<string, number>();
  for (const { fromMs, toMs, servers } of stretches) {
    if (Math.min(toMs, range.toMs) <= Math.max(fromMs, range.fromMs)) continue;
    const occupied = servers.filter(({ status }) => status === "occupied");
    for (const [name, some] of Map.groupBy(occupied, (server) => server.name)) {
      peaks.set(name, Math.max(peaks.get(name) ?? 0, some.length));
    }
  }
  return peaks;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** A clock that was stepped skipped unobserved time; a small difference is no step. */
const slackMs = 1_000;

/** Gaps that adjoin each other have different reasons. */
function joined(gaps: readonly { readonly fromMs: number; readonly toMs: number }[]) {
  const all: { fromMs: number; toMs: number }[] = [];
  for (const { fromMs, toMs } of gaps) {
    const last = all.at(-1);
    if (last?.toMs === fromMs) last.toMs = toMs;
    else all.push({ fromMs, toMs });
  }
  return all;
}

function sorted<Value>(byName: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] {
  return [...byName].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

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
