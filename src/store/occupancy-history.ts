import { setImmediate } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import { bucketStart, resolutionMs, resolutions } from "../core/occupancy/bucket.ts";
import type { Bucket, Resolution } from "../core/occupancy/bucket.ts";
import { totalOfBucket } from "../core/occupancy/server-sums.ts";
import type { BucketTotal } from "../core/occupancy/server-sums.ts";
import { addBody } from "./bucket-body.ts";
import { createNameReader } from "./bucket-names.ts";
import { bucketFromRow } from "./bucket-rows.ts";
import { readGaps } from "./gaps.ts";
import type { Gap, GapQuery } from "./gaps.ts";
import { NumberReader } from "./packed-numbers.ts";
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
import type { BucketRow, Found } from "./read-buckets.ts";
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
   * is not closed yet, and with what passed unwatched and was kept in coarser buckets only.
   */
  buckets(query: BucketQuery): AsyncIterable<TargetBucket>;
  /** The same with all names together, for a small part of what unpacking them costs. */
  totals(query: BucketQuery): AsyncIterable<TargetTotal>;
  /** Of each target and resolution of which anything is kept. */
  extents(): Promise<readonly BucketExtent[]>;
  /** Stretches of a target's time that nobody watched, in order, clipped to the range. */
  gaps(query: GapQuery): AsyncIterable<Gap>;
}

/** About so many buckets are read before something else has its turn. */
const bucketsAtOnce = 200;

export function createOccupancyHistory(reader: Kysely<Tables>): OccupancyHistory {
  const names = createNameReader(reader);
  const unpack = (row: BucketRow): Bucket => bucketFromRow(row, names.nameOf);

  /** Of each bucket whose it is, without unpacking it. */
  async function* find({
    resolution,
    fromMs,
    toMs,
    ...filter
  }: BucketQuery): AsyncIterable<{ readonly target: Target; readonly found: Found }> {
    const targets = await readTargets(reader, filter);
    const ids = [...targets.keys()];
    // Before the closed ones: what is closed meanwhile is found there, and goes first.
    const open = await readOpen(reader, ids, resolution);
    const span = await readSpan(reader, ids, resolution);
    const stepMs = resolutionMs[resolution];
    const lastEndMs = Math.min(span.endMs, toMs);
    const windowMs = stepMs * Math.max(1, Math.floor(bucketsAtOnce / Math.max(1, ids.length)));
    let startMs = Math.max(span.startMs, bucketStart(resolution, fromMs + stepMs - 1));
    for (; startMs < lastEndMs; startMs += windowMs) {
      const window = { ids, startMs, endMs: Math.min(startMs + windowMs, lastEndMs) };
      const unseen = await readUnseen(reader, resolution, window);
      const closed = await readClosed(reader, resolution, window);
      await names.refresh();
      const all = [
        ...unseen.flatMap((row) => partsOf(row, resolution, window, unpack)),
        ...openParts(open, resolution, window, unpack),
        ...closed.map((row) => ({
          targetId: row.target_id,
          startMs: row.start_at_ms,
          unpack: () => unpack(row),
          row,
        })),
      ];
      for (const found of inOrder(all)) {
        const target = targets.get(found.targetId);
        if (target) yield { target, found };
      }
      await setImmediate();
    }
  }

  return {
    async *buckets(query) {
      for await (const { target, found } of find(query)) {
        yield { target, bucket: found.unpack() };
      }
    },

    async *totals(query) {
      for await (const { target, found } of find(query)) {
        yield { target, total: totalOf(found) };
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

function totalOf({ row, unpack }: Found): BucketTotal {
  if (!row) return totalOfBucket(unpack());
  return {
    startMs: row.start_at_ms,
    bookedMs: row.booked_ms,
    unobservedMs: row.unobserved_ms,
    addTo: (sums) => addBody(sums, row.booked_ms, new NumberReader(row.body)),
  };
}
