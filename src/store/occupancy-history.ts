import { setImmediate } from "node:timers/promises";
import {
  accountOfNone,
  addBucket,
  bucketStart,
  emptyBucket,
  isEmptyBucket,
  resolutionMs,
} from "../fleet/buckets.ts";
import type { Bucket, Counted, Resolution, RolledUp } from "../fleet/buckets.ts";
import type { Target } from "../fleet/model.ts";
import type { Gap } from "../fleet/recorded-time.ts";
import { createRowReading, type RowReading } from "./row-reading.ts";
import { StepReader, endedDwells, hasMoreChanges } from "./change-steps.ts";
import { foldTargets, keysOf, readJointPeaks, subjectsOf } from "./fold-changes.ts";
import type { FoldedTarget, PeakQuery } from "./fold-changes.ts";
import { readGapsOf, type StoredGap } from "./gaps.ts";
import { keyOf, readCounts, readKept, readKey, readRollups, type Found } from "./rollups.ts";
import { readConsistently } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";
import { historyTargets, selectHistory, type HistoryTarget } from "./targets.ts";
import { foldUnits, type UnitCell, type UnitQuery } from "./unit-history.ts";
import { foldTimeline, type TimelineQuery, type UnitTimeline } from "./unit-history.ts";

/** Undefined: all. */
export interface TargetFilter {
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
}

export interface TargetBucket {
  readonly target: Target;
  readonly bucket: Bucket;
}

/** Buckets of one resolution that start at a moment or later, but before another one. UTC milliseconds. */
export interface BucketRange {
  readonly resolution: Resolution;
  readonly fromMs: number;
  readonly toMs: number;
}

export type RecordedTarget = OccupancyReader["recorded"][number];

/** From when on buckets of each resolution can be had. UTC milliseconds; -Infinity: from the beginning. */
export type KeptFrom = OccupancyReader["keptFrom"];

/** The history of some targets, as it was when it was opened. */
export type OccupancyReader = Awaited<
  ReturnType<ReturnType<typeof createOccupancyHistory>["open"]>
>;

/** They take some seconds. */
const mostForPeaks = 500_000;
/** They take about one. */
const mostForDwells = 200_000;

export interface EndedDwell {
  readonly target: Target;
  readonly atMs: number;
  readonly value: string;
  readonly dwellMs: number;
}

/** Derives buckets from rollups, changes and gaps, concurrently with writes. */
export function createOccupancyHistory(reader: Db, reading = createRowReading()) {
  return {
    async open(filter: TargetFilter = {}) {
      const { targets, kept } = await readConsistently(reader, async (trx) => ({
        targets: await readHistoryTargets(trx, filter),
        kept: await readKept(trx),
      }));
      const byId = new Map(targets.map((each) => [each.id, each.target]));
      const find = ({ region, key }: Target): HistoryTarget | undefined =>
        targets.find(({ target }) => target.region === region && target.key === key);
      return {
        /** The time that the history of each target covers. */
        recorded: targets.map(({ target, recorded }) => ({ target, ...recorded })),
        keptFrom: kept.keptFrom,
        /** From when on changes are kept. */
        changesKeptFromMs: kept.changesKeptFromMs,
        /** Whether the targets have more changes than some between two moments. */
        hasMoreChanges: (range: Gap, most: number): Promise<boolean> =>
          hasMoreChanges(reader, targets, range, most),
        /** The most that were occupied at one moment. Null: not all changes in the range are kept, or there are too many. */
        async peaks(query: PeakQuery): Promise<ReadonlyMap<string, number> | null> {
          if (kept.keptFrom["5m"] > query.fromMs) return null;
          if (await hasMoreChanges(reader, targets, query, mostForPeaks)) return null;
          return readJointPeaks(reader, targets, query, reading);
        },
        /** Dwell times in occupied that ended, in order of time. None where not all changes are kept, or there are too many. */
        async *dwells(range: Gap, counted: Counted): AsyncIterable<readonly EndedDwell[]> {
          if (kept.changesKeptFromMs > range.fromMs) return;
          if (await hasMoreChanges(reader, targets, range, mostForDwells)) return;
          const changes = new StepReader(reader, keysOf([counted]), reading);
          const selection = { targetIds: [...byId.keys()], subjects: subjectsOf([counted]) };
          for await (const steps of changes.steps(selection, range.fromMs, range.toMs)) {
            yield steps.flatMap((step) => {
              const { target_id: id, at_ms: atMs } = step.row;
              const target = byId.get(id);
              if (!target) return [];
              return endedDwells(step).map(({ key, dwellMs }) => {
                return { target, atMs, value: readKey(key).value, dwellMs };
              });
            });
          }
        },
        /** How single servers or sandboxes of a target spent a range. */
        async *units(target: Target, query: UnitQuery): AsyncIterable<UnitCell> {
          const found = find(target);
          if (found) yield* foldUnits(reader, found, query, reading);
        },
        /** The gaps of a target in order, clipped to the range. One that is open lasts until the last poll. */
        async gaps(target: Target, { fromMs, toMs }: Gap): Promise<readonly StoredGap[]> {
          const found = find(target);
          const range = { fromMs, toMs: Math.min(toMs, found?.recorded.toMs ?? fromMs) };
          if (!found || range.toMs <= fromMs) return [];
          return (await readGapsOf(reader, [found.id], range)).get(found.id) ?? [];
        },
        /** What one of them was, from a moment to another one. */
        timeline: (target: Target, query: TimelineQuery): Promise<UnitTimeline> =>
          foldTimeline(reader, find(target), kept.changesKeptFromMs, query, reading),
        /**
         * By start, then by target, in the order in which targets were first polled. Some at a time.
         *
         * @param counted whose servers or sandboxes have an account, by value; all have the empty one
         */
        buckets: (bucketRange: BucketRange, counted: Counted) =>
          readBuckets(reader, targets, bucketRange, counted, kept, reading),
      };
    },
  };
}

async function* readBuckets(
  reader: Db,
  targets: readonly HistoryTarget[],
  bucketRange: BucketRange,
  counted: Counted,
  kept: { readonly quartersFromMs: number },
  reading: RowReading,
): AsyncIterable<readonly TargetBucket[]> {
  const byId = new Map(targets.map((each) => [each.id, each.target]));
  const read = createBucketReader(reader, targets, counted, kept, reading);
  const own = keyOf(counted, "").length;
  const isTotal = counted === "server" || counted === "sandbox";
  for await (const some of read[bucketRange.resolution](bucketRange)) {
    yield some.flatMap(({ targetId, bucket }) => {
      const target = byId.get(targetId);
      const { startMs } = bucket;
      const isIn = startMs >= bucketRange.fromMs && startMs < bucketRange.toMs;
      if (!target || !isIn || isEmptyBucket(bucket)) return [];
      // Without what is counted, which is the same in all.
      const names = new Map(
        bucket.names.entries().map(([name, account]) => [name.slice(own), account]),
      );
      if (isTotal && !names.has("")) names.set("", accountOfNone(bucket));
      return [{ target, bucket: { ...bucket, names } }];
    });
  }
}

async function readHistoryTargets(
  reader: Db,
  { region, key }: TargetFilter = {},
): Promise<readonly HistoryTarget[]> {
  if (region?.length === 0 || key?.length === 0) return [];
  let select = selectHistory(reader);
  if (region) select = select.where("region", "in", region);
  if (key) select = select.where("key", "in", key);
  return historyTargets(await select.orderBy("id").execute());
}

/** Rows that are read with one statement, in a few milliseconds: polls and deliveries go on in between. */
const rowsAtOnce = 2_000;

type SinceOf = (target: HistoryTarget) => number;

const daysRolledUpTo: SinceOf = ({ rolledUpToMs }) => bucketStart("1d", rolledUpToMs);

function createBucketReader(
  reader: Db,
  targets: readonly HistoryTarget[],
  counted: Counted,
  { quartersFromMs }: { readonly quartersFromMs: number },
  reading: RowReading,
) {
  const kinds = [counted];
  const rolledUpTo: SinceOf = ({ rolledUpToMs }) => rolledUpToMs;

  /** What changes and gaps say from the end of an hour on. */
  async function* fold(
    { resolution, fromMs, toMs }: BucketRange,
    sinceOf: SinceOf,
  ): AsyncGenerator<readonly Found[], void> {
    const from = targets.filter((target) => sinceOf(target) <= target.recorded.toMs);
    const starts = from.map((target) => ({ id: target.id, atMs: sinceOf(target) }));
    const counts = await readCounts(reader, starts, kinds);
    const folded = from.map((target): FoldedTarget => {
      const { id, recorded } = target;
      const startMs = Math.max(sinceOf(target), recorded.fromMs);
      return { id, recorded, fromMs: startMs, counts: counts.get(id) ?? new Map() };
    });
    const query = { kinds, cellMs: resolutionMs[resolution], toMs };
    for await (const cells of foldTargets(reader, folded, query, reading)) {
      yield cells.filter(({ bucket }) => bucket.startMs >= fromMs);
    }
  }

  /** What is rolled up, together with what follows. @param sinceOf the first one that is wanted */
  async function* rolled(
    { resolution, fromMs, toMs }: BucketRange & { readonly resolution: RolledUp },
    endOf: SinceOf,
    rest: AsyncGenerator<readonly Found[], void>,
    sinceOf: SinceOf = () => fromMs,
  ): AsyncGenerator<readonly Found[], void> {
    const lengthMs = resolutionMs[resolution];
    const some = targets.filter(
      (target) => endOf(target) > Math.max(target.recorded.fromMs - lengthMs, sinceOf(target)),
    );
    const firsts = some.map((target) =>
      Math.max(bucketStart(resolution, target.recorded.fromMs), sinceOf(target)),
    );
    const endMs = Math.min(toMs, Math.max(...some.map(endOf)));
    // How many rows an hour or day has is known once the first one is read.
    let windowMs = lengthMs;
    let atMs = Math.ceil(Math.min(...firsts) / lengthMs) * lengthMs;
    let next = await rest.next();
    while (atMs < endMs) {
      const untilMs = Math.min(atMs + windowMs, endMs);
      const query = { resolution, kinds, endOf, fromMs: atMs, toMs: untilMs };
      const found = [...(await readRollups(reader, some, query, reading))];
      const rows = found.reduce((sum, { bucket }) => sum + 1 + bucket.names.size, 1);
      const rowsEach = rows / ((untilMs - atMs) / lengthMs);
      windowMs = lengthMs * Math.max(1, Math.floor(rowsAtOnce / rowsEach));
      for (
        ;
        !next.done && (next.value[0]?.bucket.startMs ?? -1) < untilMs;
        next = await rest.next()
      ) {
        found.push(...next.value);
      }
      yield inOrder(found);
      atMs = untilMs;
      await setImmediate();
    }
    for (; !next.done; next = await rest.next()) yield next.value;
  }

  const inHours = (
    range: BucketRange & { readonly resolution: RolledUp },
    sinceOf?: SinceOf,
  ): AsyncGenerator<readonly Found[], void> =>
    rolled(range, rolledUpTo, fold(range, rolledUpTo), sinceOf);

  /** The days that are not rolled up. */
  const restOfDays = (range: BucketRange): AsyncGenerator<readonly Found[], void> => {
    const sinceOf: SinceOf = (target) => Math.max(range.fromMs, daysRolledUpTo(target));
    return daysOfHours(inHours({ ...range, resolution: "1h" }, sinceOf), targets);
  };

  const derived = (range: BucketRange): AsyncGenerator<readonly Found[], void> =>
    fold(range, ({ recorded, rolledUpToMs }) => {
      const firstMs = bucketStart("1h", recorded.fromMs);
      return Math.max(firstMs, Math.min(bucketStart("1h", range.fromMs), rolledUpToMs));
    });

  return {
    "5m": derived,
    "15m": (range: BucketRange) =>
      range.fromMs < quartersFromMs ? derived(range) : inHours({ ...range, resolution: "15m" }),
    "1h": (range: BucketRange) => inHours({ ...range, resolution: "1h" }),
    "1d": (range: BucketRange) =>
      rolled({ ...range, resolution: "1d" }, daysRolledUpTo, restOfDays(range)),
  };
}

/** Makes days of the hours that follow the last day that is rolled up. */
async function* daysOfHours(
  hours: AsyncGenerator<readonly Found[], void>,
  targets: readonly HistoryTarget[],
): AsyncGenerator<readonly Found[], void> {
  const ends = new Map(targets.map((target) => [target.id, daysRolledUpTo(target)]));
  let day = new Map<number, Bucket>();
  const found = (): readonly Found[] =>
    inOrder(Array.from(day, ([targetId, bucket]) => ({ targetId, bucket })));
  for await (const some of hours) {
    for (const { targetId, bucket } of some) {
      if (bucket.startMs < (ends.get(targetId) ?? 0)) continue;
      const startMs = bucketStart("1d", bucket.startMs);
      const [first] = day.values();
      if (first && first.startMs !== startMs) {
        yield found();
        day = new Map();
      }
      day.set(targetId, addBucket(day.get(targetId) ?? emptyBucket(startMs), bucket));
    }
  }
  yield found();
}

function inOrder(found: readonly Found[]): readonly Found[] {
  return found.toSorted(
    (one, other) => one.bucket.startMs - other.bucket.startMs || one.targetId - other.targetId,
  );
}
