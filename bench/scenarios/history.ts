import { join } from "node:path";
import { sql } from "kysely";
import { resolutionMs } from "../../src/core/occupancy/bucket.ts";
import type { Resolution } from "../../src/core/occupancy/bucket.ts";
import { usualBundles } from "../../src/store/bundle-changes.ts";
import { openDatabase } from "../../src/store/database.ts";
import type { BucketQuery } from "../../src/store/occupancy-history.ts";
import { createStore, openStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import { bundleDay } from "../support/bundle-day.ts";
import type { ChangeBytes } from "../support/bundle-day.ts";
import { createBusyTarget, names, pollMs, serversOfName } from "../support/busy-fleet.ts";
import type { BusyTarget } from "../support/busy-fleet.ts";
import { checkEqual } from "../support/check.ts";
import { measureCpu } from "../support/meters.ts";
import { mixBits } from "../support/random-bits.ts";
import type { Measurement, Scenario } from "../support/scenario.ts";
import { readSizes } from "../support/table-sizes.ts";
import type { Sizes } from "../support/table-sizes.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { measureTurns, rowsOfTurns } from "../support/turns.ts";

const dayMs = resolutionMs["1d"];
const startMs = Date.UTC(2026, 0, 1);
const endMs = startMs + dayMs;

/** Of every server, on average. */
const changesADay = 12;

/** What a year of 100 targets may take. */
const mostMegabytes = 2_000;

/** For as long is kept what makes up a year, by default. Days. */
const kept: Readonly<Record<Resolution, number>> = { "5m": 30, "1h": 365, "1d": 365 };

/**
 * What the history of 100 targets takes, with 20 names of 5 servers each, of which every server
 * changes status 12 times a day: a day of polls as they are judged and committed. Only polls that
 * show a change, and one in five minutes, are committed: the others would leave the same behind. The
 * buckets of a year are that day's, again and again; what the rest of a year takes is as many times
 * what it took that day.
 */
export const history: Scenario = {
  name: "history",
  rounds: { full: 1, quick: 1 },
  async run({ quick }) {
    using folder = tempFolder();
    const file = join(folder.path, "history.db");
    const targets = quick ? 5 : 100;
    const { perDay, fixed } = await fillDay(file, targets);
    const changes = await bundleDay(file, countADay(targets));
    await fillYear(file);
    const store = openStore(file);
    try {
      return [
        ...growth({ perDay, fixed, targets, bytes: changes.bytes }),
        ...changes.measured,
        ...(await measureReading(store, targets)),
        ...(await measurePruning(store, targets)),
        await measureCommits(quick ? 100 : 1_000),
      ];
    } finally {
      await store.close();
    }
  },
};

async function fillDay(file: string, count: number) {
  const { kysely, close } = openDatabase(file);
  await sql`pragma synchronous = off`.execute(kysely);
  const store = createStore(kysely, close);
  const targets = await addTargets(store, count);
  await commit(store, targets, startMs, () => 0);
  const fixed = await readSizes(kysely);
  const isDue = createDice(changesADay * names * serversOfName * (pollMs / dayMs));
  // One poll past midnight closes the day.
  for (let atMs = startMs + pollMs; atMs <= endMs; atMs += pollMs) {
    const isFifth = atMs % resolutionMs["5m"] === 0;
    const changed = new Map(targets.map(({ id }) => [id, isDue(id)]));
    const shown = targets.filter(({ id }) => isFifth || (changed.get(id) ?? 0) > 0);
    await commit(store, shown, atMs, (id) => changed.get(id) ?? 0);
  }
  const sizes = await readSizes(kysely);
  const perDay = new Map(
    Array.from(sizes, ([what, size]) => [what, size - (fixed.get(what) ?? 0)]),
  );
  await store.close();
  return { perDay, fixed };
}

async function addTargets(store: Store, count: number): Promise<readonly BusyTarget[]> {
  const targets = Array.from({ length: count }, (_, index) => ({
    region: `region-${index % 10}`,
    key: `key-${index}`,
  }));
  const added = await store.targets.addAll(targets);
  return added.map(({ id, target }) => createBusyTarget(id, target, startMs));
}

async function commit(
  store: Store,
  targets: readonly BusyTarget[],
  atMs: number,
  changed: (id: number) => number,
): Promise<void> {
  const commits = targets.map((target) =>
    store.commitPoll(target.id, target.poll(atMs, changed(target.id))),
  );
  await Promise.all(commits);
}

/** How often something happens that happens so often on average. */
function createDice(mean: number): (stream: number) => number {
  const never = Math.exp(-mean);
  let draws = 0;
  return (stream) => {
    let product = 1;
    for (let times = 0; ; times += 1) {
      product *= mixBits(stream, 4, (draws += 1)) / 2 ** 32;
      if (product <= never) return times;
    }
  };
}

/** The day before is like that day, and so on. */
async function fillYear(file: string): Promise<void> {
  const { kysely, close } = openDatabase(file);
  await sql`pragma synchronous = off`.execute(kysely);
  for (const [resolution, days] of Object.entries(kept)) {
    const table = sql.table(`buckets_${resolution}`);
    for (let day = 1; day < days; day += 1) {
      await sql`
        insert into ${table} (target_id, start_at_ms, booked_ms, unobserved_ms, body)
        select target_id, start_at_ms - ${day * dayMs}, booked_ms, unobserved_ms, body
        from ${table} where start_at_ms >= ${startMs} and start_at_ms < ${endMs}
        order by start_at_ms, target_id
      `.execute(kysely);
      if (resolution === "5m") continue;
      const totals = sql.table(`totals_${resolution}`);
      await sql`
        insert into ${totals} (start_at_ms, target_id, body)
        select start_at_ms - ${day * dayMs}, target_id, body
        from ${totals} where start_at_ms >= ${startMs} and start_at_ms < ${endMs}
      `.execute(kysely);
    }
  }
  await close();
}

const bucketTables = new Map([
  ["buckets_5m", kept["5m"]],
  ["buckets_1h", kept["1h"]],
  ["buckets_1d", kept["1d"]],
  ["totals_1h", kept["1h"]],
  ["totals_1d", kept["1d"]],
]);

function countADay(targets: number): number {
  return targets * names * serversOfName * changesADay;
}

interface Growth {
  readonly perDay: Sizes;
  readonly fixed: Sizes;
  readonly targets: number;
  readonly bytes: ChangeBytes;
}

function growth({ perDay, fixed, targets, bytes }: Growth): Measurement[] {
  const megabytes = (size: number): number => size / 1e6;
  const rest = [...perDay].filter(([table]) => !bucketTables.has(table) && table !== "changes");
  const sumOf = (sizes: Iterable<readonly [string, number]>): number =>
    Array.from(sizes, ([, size]) => size).reduce((sum, size) => sum + size, 0);
  const ofBuckets = [...bucketTables].map(([table, days]) => (perDay.get(table) ?? 0) * days);
  const others = sumOf(fixed) + sumOf(rest) + ofBuckets.reduce((a, b) => a + b, 0);
  const count = countADay(targets);
  // The latest stay as they are.
  const latest = usualBundles.loose + usualBundles.bundled;
  const latestBytes = latest * (bytes.loose - bytes.bundled);
  const allowed = mostMegabytes * (targets / 100);
  const row = (what: string, size: number): Measurement => ({
    what: `growth a day, ${what}`,
    unit: "MB",
    samples: [megabytes(size)],
  });
  return [
    ...[...bucketTables.keys()].map((table) => row(table, perDay.get(table) ?? 0)),
    { what: "a change, as it is written", unit: "bytes", samples: [bytes.loose] },
    { what: "a change, in a bundle", unit: "bytes", samples: [bytes.bundled] },
    {
      what: `a year of ${targets} targets of ${names} names, without changes`,
      unit: "MB",
      samples: [megabytes(others)],
      target: allowed,
    },
    {
      what: `a year with ${count} changes a day`,
      unit: "MB",
      samples: [megabytes(others + latestBytes + 365 * count * bytes.bundled)],
      target: allowed,
    },
    {
      what: `changes a day with which a year takes ${allowed} MB`,
      unit: "",
      samples: [(allowed * 1e6 - others - latestBytes) / (365 * bytes.bundled)],
    },
  ];
}

async function measureReading(store: Store, targets: number): Promise<Measurement[]> {
  const read = async (
    what: string,
    query: BucketQuery,
    expected: number,
  ): Promise<Measurement[]> => {
    const turns = await measureTurns(async () => {
      let found = 0;
      for await (const some of store.occupancy.buckets(query)) {
        for (const { bucket } of some) found += bucket.names.size / names;
      }
      checkEqual(`buckets of ${what}`, found, expected);
    });
    return rowsOfTurns(`reading ${what}`, turns);
  };
  const past = (resolution: Resolution, days: number): BucketQuery => ({
    resolution,
    fromMs: endMs - days * dayMs,
    toMs: endMs,
  });
  const one = { ...past("1h", 365), key: ["key-0"] };
  return [
    ...(await read(`30 days of hours, ${targets} targets`, past("1h", 30), 30 * 24 * targets)),
    ...(await read(`a year of days, ${targets} targets`, past("1d", 365), 365 * targets)),
    ...(await read("a year of hours, one target", one, 365 * 24)),
    {
      what: "CPU of finding what is kept",
      unit: "ms",
      samples: [await measureCpu(() => store.occupancy.extents())],
    },
  ];
}

/** A day less is kept of five minutes: what goes each day, and as many steps as that takes. */
async function measurePruning(store: Store, targets: number): Promise<Measurement[]> {
  const stepsMs: number[] = [];
  for (let isMore = true; isMore;) {
    const startedMs = performance.now();
    isMore = await store.prune.buckets("5m", endMs - (kept["5m"] - 1) * dayMs);
    stepsMs.push(performance.now() - startedMs);
  }
  return [
    { what: `a step of pruning a day of 5m, ${targets} targets`, unit: "ms", samples: stepsMs },
  ];
}

/** In transactions of a hundred, as polls that show no change are committed. */
async function measureCommits(count: number): Promise<Measurement> {
  using folder = tempFolder();
  const store = openStore(join(folder.path, "commits.db"));
  const targets = await addTargets(store, count);
  await commit(store, targets, startMs, () => 0);
  const samples: number[] = [];
  for (let turn = 1; turn <= 20; turn += 1) {
    const verdicts = targets.map((target) => ({
      id: target.id,
      verdict: target.poll(startMs + turn * pollMs, 0),
    }));
    const costMs = await measureCpu(async () => {
      for (let first = 0; first < count; first += 100) {
        const some = verdicts.slice(first, first + 100);
        await Promise.all(some.map(({ id, verdict }) => store.commitPoll(id, verdict)));
      }
    });
    samples.push((costMs * 1_000) / count);
  }
  await store.close();
  return { what: `CPU of a commit, ${count} targets of ${names} names`, unit: "us", samples };
}
