import { setImmediate } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import { bucketStart, emptyBucket, resolutionMs, resolutions } from "../core/occupancy/bucket.ts";
import type { Bucket, Resolution } from "../core/occupancy/bucket.ts";
import { totalOfBucket } from "../core/occupancy/server-sums.ts";
import type { BucketTotal } from "../core/occupancy/server-sums.ts";
import { createNameReader } from "./bucket-names.ts";
import { bucketFromRow, bucketTables, totalFromRow } from "./bucket-rows.ts";
import { totalTables } from "./bucket-totals.ts";
import { readGaps } from "./gaps.ts";
import type { Gap, GapQuery } from "./gaps.ts";
import {
  inOrder,
  openParts,
  partsOf,
  readClosed,
  readExtents,
  readOpen,
  readSpan,
  readTargets,
  readUnseen,
} from "./read-buckets.ts";
import type { BucketRow, BucketWindow, Found } from "./read-buckets.ts";
import { readTotals } from "./read-totals.ts";
import { createRowReading } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

export interface TargetBucket {
  readonly target: Target;
  readonly bucket: Bucket;
}

export interface TargetTotal {
  readonly target: Target;
  readonly total: BucketTotal;
}

export interface BucketQuery {
  readonly resolution: Resolution;
  /** UTC milliseconds: buckets that start at this moment or later, but before the next one. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Only targets in these regions; left out: in all. */
  readonly region?: readonly string[] | undefined;
  /** Only targets with these keys; left out: with all. */
  readonly key?: readonly string[] | undefined;
}

/** What is kept of a target in a resolution: the starts of its first and its last bucket. */
export interface BucketExtent {
  readonly target: Target;
  readonly resolution: Resolution;
  /** UTC milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** What was booked of targets, read beside whatever is being written. */
export interface OccupancyHistory {
  /**
   * By start, then by target, in the order in which targets were first watched. Complete: with what
   * is not closed yet, and with what passed unwatched and was kept in coarser buckets only. Some at a
   * time, which are to be gone through before the next are asked for: to wait for each costs more
   * than to read it.
   */
  buckets(query: BucketQuery): AsyncIterable<Iterable<TargetBucket>>;
  /** The same with all names together, for a small part of what unpacking them costs. */
  totals(query: BucketQuery): AsyncIterable<Iterable<TargetTotal>>;
  /** Of each target and resolution of which anything is kept. */
  extents(): Promise<readonly BucketExtent[]>;
  /** Stretches of a target's time that nobody watched, in order, clipped to the range. */
  gaps(query: GapQuery): AsyncIterable<Gap>;
}

/** How closed buckets are read, and what is made of those that are put together. */
interface Reading<Booked> {
  /** About so many are read before something else has its turn. */
  readonly atOnce: number;
  closed(resolution: Resolution, window: BucketWindow): Promise<readonly Found<Booked>[]>;
  of(bucket: Bucket): Booked;
}

interface FoundOfTargets<Booked> {
  readonly found: readonly Found<Booked>[];
  readonly targets: ReadonlyMap<number, Target>;
}

export function createOccupancyHistory(
  reader: Kysely<Tables>,
  rowReading = createRowReading(),
): OccupancyHistory {
  const names = createNameReader(reader, rowReading);
  const unpack = (row: BucketRow): Bucket => bucketFromRow(row, names.nameOf);

  /** Of what is put together with others: the time of one that cannot be read is unobserved. */
  const unpackIfReadable = (row: BucketRow): Bucket =>
    rowReading.read("open_buckets", idOf(row.target_id, row.start_at_ms), () => unpack(row)) ??
    emptyBucket(row.start_at_ms);

  const readRows = async <Booked>(
    resolution: Resolution,
    window: BucketWindow,
    read: (row: BucketRow) => Booked,
  ): Promise<readonly Found<Booked>[]> => {
    const rows = await readClosed(reader, resolution, window);
    return rows.map((row) => ({
      targetId: row.target_id,
      startMs: row.start_at_ms,
      get: () => read(row),
    }));
  };
  const byNames: Reading<Bucket> = {
    atOnce: 200,
    closed: (resolution, window) => readRows(resolution, window, unpack),
    of: (bucket) => bucket,
  };
  const asTotals: Reading<BucketTotal> = {
    atOnce: 1_000,
    closed: (resolution, window) =>
      resolution === "5m"
        ? readRows(resolution, window, totalFromRow)
        : readTotals(reader, resolution, window),
    of: totalOfBucket,
  };

  /** Of each bucket whose it is, without unpacking it. */
  async function* find<Booked>(
    { resolution, fromMs, toMs, ...filter }: BucketQuery,
    reading: Reading<Booked>,
  ): AsyncIterable<FoundOfTargets<Booked>> {
    const targets = await readTargets(reader, filter);
    const ids = [...targets.keys()];
    // Before the closed ones: what is closed meanwhile is found there, and goes first.
    const open = await readOpen(reader, ids, resolution);
    const span = await readSpan(reader, ids, resolution);
    const stepMs = resolutionMs[resolution];
    const lastEndMs = Math.min(span.endMs, toMs);
    const windowMs = stepMs * Math.max(1, Math.floor(reading.atOnce / Math.max(1, ids.length)));
    const made = (each: Found<Bucket>): Found<Booked> => ({
      ...each,
      get: () => reading.of(each.get()),
    });
    let startMs = Math.max(span.startMs, bucketStart(resolution, fromMs + stepMs - 1));
    for (; startMs < lastEndMs; startMs += windowMs) {
      const window = { ids, startMs, endMs: Math.min(startMs + windowMs, lastEndMs) };
      const unseen = await readUnseen(reader, resolution, window);
      const closed = await reading.closed(resolution, window);
      await names.refresh();
      const found = inOrder([
        ...unseen.flatMap((row) => partsOf(row, resolution, window, unpackIfReadable)).map(made),
        ...openParts(open, resolution, window, unpackIfReadable).map(made),
        ...closed,
      ]);
      yield { found, targets };
      await setImmediate();
    }
  }

  return {
    async *buckets(query) {
      for await (const some of find(query, byNames)) {
        const table = bucketTables[query.resolution];
        yield oneByOne(some, rowReading, table, (target, bucket) => ({ target, bucket }));
      }
    },

    async *totals(query) {
      for await (const some of find(query, asTotals)) {
        const { resolution } = query;
        const table = resolution === "5m" ? bucketTables[resolution] : totalTables[resolution];
        yield oneByOne(some, rowReading, table, (target, total) => ({ target, total }));
      }
    },

    async extents() {
      const targets = await readTargets(reader, {});
      const all: BucketExtent[] = [];
      for (const resolution of resolutions) {
        for (const row of await readExtents(reader, [...targets.keys()], resolution)) {
          const target = targets.get(row.target_id);
          if (!target || row.first_ms === null || row.last_ms === null) continue;
          all.push({ target, resolution, firstMs: row.first_ms, lastMs: row.last_ms });
        }
        await setImmediate();
      }
      return all;
    },

    gaps: (query) => readGaps(reader, query),
  };
}

/** Each when its turn comes: unpacked, it takes many times as much. */
function* oneByOne<Booked extends object, Told>(
  { found, targets }: FoundOfTargets<Booked>,
  rowReading: RowReading,
  table: keyof Tables,
  tell: (target: Target, booked: Booked) => Told,
): Iterable<Told> {
  for (const each of found) {
    const target = targets.get(each.targetId);
    if (!target) continue;
    const booked = rowReading.read(table, idOf(each.targetId, each.startMs), () => each.get());
    if (booked) yield tell(target, booked);
  }
}

function idOf(targetId: number, startMs: number): string {
  return `of target ${targetId} from ${new Date(startMs).toISOString()}`;
}
