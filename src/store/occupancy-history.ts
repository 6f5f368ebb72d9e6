import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import {
  addBucket,
  bucketStart,
  coarserThan,
  emptyBucket,
  isEmptyBucket,
  mergeNames,
  partOfUnobserved,
  resolutionMs,
  resolutions,
} from "../fleet/buckets.ts";
import type { Gap, OpenBuckets } from "../fleet/accounting.ts";
import type { Bucket, Resolution } from "../fleet/buckets.ts";
import type { Target } from "../fleet/model.ts";
import { bucketOf, inWindow, placeOf, readClosed, readNames } from "./closed-buckets.ts";
import type { Found, Targets, Window } from "./closed-buckets.ts";
import { readGaps } from "./gaps.ts";
import type { GapQuery } from "./gaps.ts";
import { readOpenBuckets } from "./occupancy-rows.ts";
import { createRowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

export interface TargetBucket {
  readonly target: Target;
  readonly bucket: Bucket;
}

export interface BucketQuery {
  readonly resolution: Resolution;
  /** UTC milliseconds: buckets that start at this moment or later, but before the next one. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Only targets in these regions; undefined: in all. */
  readonly region?: readonly string[] | undefined;
  /** Only targets with these keys; undefined: with all. */
  readonly key?: readonly string[] | undefined;
  /** Default: the servers of each name have an account. False: all have one, under the empty name; they are summed in SQL. */
  readonly byName?: boolean;
}

/** What is kept of a target in a resolution: the starts of its first and its last bucket. */
export interface BucketExtent {
  readonly target: Target;
  readonly resolution: Resolution;
  /** UTC milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** How the time of targets was spent, read beside whatever is being written. */
export interface OccupancyHistory {
  /**
   * By start, then by target, in the order in which targets were first polled. Complete: with what is not closed
   * yet, and with what passed unobserved and was kept in coarser buckets only. Some at a time.
   */
  buckets(query: BucketQuery): AsyncIterable<readonly TargetBucket[]>;
  /** Of each target and resolution of which anything is kept. */
  extents(): Promise<readonly BucketExtent[]>;
  /** When nobody observed a target, in order, clipped to the range. */
  gaps(query: GapQuery): AsyncIterable<Gap>;
}

/** Buckets that are read with one statement. */
const bucketsAtOnce = 200;
const sumsAtOnce = 500;

export function createOccupancyHistory(
  reader: Kysely<Tables>,
  reading = createRowReading(),
): OccupancyHistory {
  return {
    async *buckets({ resolution, fromMs, toMs, byName = true, ...filter }) {
      const targets = await readTargets(reader, filter);
      if (targets.size === 0) return;
      // Before the closed ones: a bucket that closes meanwhile is found among both, and the closed one counts.
      const open = await readOpenBuckets(reader, reading);
      const span = spanOf(await readExtents(reader, targets, open), resolution);
      const stepMs = resolutionMs[resolution];
      const atOnce = byName ? bucketsAtOnce : sumsAtOnce;
      const windowMs = stepMs * Math.max(1, Math.floor(atOnce / targets.size));
      const lastEndMs = Math.min(span.endMs, toMs);
      let startMs = Math.max(span.startMs, bucketStart(resolution, fromMs + stepMs - 1));
      for (; startMs < lastEndMs; startMs += windowMs) {
        const endMs = Math.min(startMs + windowMs, lastEndMs);
        const window = { targets, resolution, startMs, endMs };
        const unobserved = await readUnobserved(reader, window);
        const made = [
          ...unobserved.flatMap((each) => partsOf(each, window)),
          ...openParts(open, window),
        ];
        const all = [
          ...(byName ? made : made.map((each) => ({ ...each, bucket: mergeNames(each.bucket) }))),
          ...(await readClosed(reader, window, byName)),
        ];
        // Of several that stand for the same time the last one counts.
        const found = new Map(all.map((each) => [`${each.bucket.startMs} ${each.targetId}`, each]));
        yield [...found.values()]
          .toSorted(
            (one, other) =>
              one.bucket.startMs - other.bucket.startMs || one.targetId - other.targetId,
          )
          .flatMap(({ targetId, bucket }) => {
            const target = targets.get(targetId);
            return target ? [{ target, bucket }] : [];
          });
        await setImmediate();
      }
    },
    async extents() {
      const targets = await readTargets(reader, {});
      const open = await readOpenBuckets(reader, reading);
      const extents = await readExtents(reader, targets, open);
      return extents.flatMap(({ targetId, ...extent }) => {
        const target = targets.get(targetId);
        return target ? [{ target, ...extent }] : [];
      });
    },
    gaps: (query) => readGaps(reader, query),
  };
}

async function readTargets(
  reader: Kysely<Tables>,
  { region, key }: Pick<BucketQuery, "region" | "key">,
): Promise<Targets> {
  if (region?.length === 0 || key?.length === 0) return new Map();
  let select = reader.selectFrom("targets").select(["id", "region", "key"]);
  if (region) select = select.where("region", "in", region);
  if (key) select = select.where("key", "in", key);
  const rows = await select.orderBy("id").execute();
  return new Map(rows.map((row) => [row.id, { region: row.region, key: row.key }]));
}

interface TargetExtent {
  readonly targetId: number;
  readonly resolution: Resolution;
  readonly firstMs: number;
  readonly lastMs: number;
}

async function readExtents(
  reader: Kysely<Tables>,
  targets: Targets,
  open: ReadonlyMap<number, OpenBuckets>,
): Promise<readonly TargetExtent[]> {
  const extents: TargetExtent[] = [];
  for (const resolution of resolutions) {
    const rows = await reader
      .selectFrom("targets")
      .select((eb) => {
        const starts = eb
          .selectFrom("target_buckets")
          .where("target_buckets.resolution", "=", resolution)
          .whereRef("target_buckets.target_id", "=", "targets.id");
        return [
          "targets.id",
          starts.select(({ fn }) => fn.min("start_at_ms").as("first")).as("first_ms"),
          starts.select(({ fn }) => fn.max("start_at_ms").as("last")).as("last_ms"),
        ];
      })
      .execute();
    for (const { id, first_ms: first, last_ms: last } of rows) {
      if (!targets.has(id)) continue;
      const opened = open.get(id)?.[resolution];
      const openMs = opened && !isEmptyBucket(opened) ? opened.startMs : null;
      const firstMs = first ?? openMs;
      const lastMs = openMs ?? last;
      if (firstMs !== null && lastMs !== null) {
        extents.push({ targetId: id, resolution, firstMs, lastMs });
      }
    }
    await setImmediate();
  }
  return extents;
}

/** From when to when there can be any bucket of a resolution: its own, coarser ones that stand for it, and open ones. */
function spanOf(
  extents: readonly TargetExtent[],
  resolution: Resolution,
): { readonly startMs: number; readonly endMs: number } {
  let startMs = Infinity;
  let endMs = -Infinity;
  for (const each of extents) {
    startMs = Math.min(startMs, bucketStart(resolution, each.firstMs));
    endMs = Math.max(
      endMs,
      bucketStart(resolution, each.lastMs) +
        Math.max(resolutionMs[each.resolution], resolutionMs[resolution]),
    );
  }
  return { startMs, endMs };
}

interface Unobserved {
  readonly targetId: number;
  readonly resolution: Resolution;
  readonly bucket: Bucket;
}

/** Coarser buckets that passed as a whole without being observed, of which no finer ones were written; the coarsest first. */
async function readUnobserved(
  reader: Kysely<Tables>,
  window: Window,
): Promise<readonly Unobserved[]> {
  const found: Unobserved[] = [];
  for (const coarser of coarserThan(window.resolution).toReversed()) {
    const wholeMs = resolutionMs[coarser];
    const within: Window = {
      ...window,
      resolution: coarser,
      startMs: bucketStart(coarser, window.startMs),
    };
    let select = inWindow(reader, within)
      .where("recorded_ms", "=", wholeMs)
      .where("unobserved_ms", "=", wholeMs);
    for (const finer of resolutions.slice(
      resolutions.indexOf(window.resolution),
      resolutions.indexOf(coarser),
    )) {
      // After a step backwards of the clock, what one finer bucket has too much can make up for others.
      select = select.where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom("target_buckets as finer")
              .select("finer.start_at_ms")
              .where("finer.resolution", "=", finer)
              .whereRef("finer.target_id", "=", "target_buckets.target_id")
              .whereRef("finer.start_at_ms", ">=", "target_buckets.start_at_ms")
              .where(
                "finer.start_at_ms",
                "<",
                sql<number>`target_buckets.start_at_ms + ${wholeMs}`,
              ),
          ),
        ),
      );
    }
    const rows = await select.selectAll("target_buckets").execute();
    if (rows.length === 0) continue;
    const names = await readNames(reader, within);
    for (const row of rows) {
      const bucket = bucketOf(row, names.get(placeOf(row)) ?? new Map());
      found.push({ targetId: row.target_id, resolution: coarser, bucket });
    }
  }
  return found;
}

/** The finer buckets that an unobserved coarser one stands for, within a window. */
function partsOf(
  { targetId, resolution: coarser, bucket }: Unobserved,
  { resolution, startMs, endMs }: Window,
): readonly Found[] {
  const part = partOfUnobserved(bucket, coarser, resolution);
  if (!part) return [];
  const found: Found[] = [];
  const lastMs = Math.min(bucket.startMs + resolutionMs[coarser], endMs);
  for (
    let atMs = Math.max(bucket.startMs, startMs);
    atMs < lastMs;
    atMs += resolutionMs[resolution]
  ) {
    found.push({ targetId, bucket: { ...part, startMs: atMs } });
  }
  return found;
}

/** What the open buckets of this and the finer resolutions make together, where that begins within a window. */
function openParts(
  open: ReadonlyMap<number, OpenBuckets>,
  { targets, resolution, startMs, endMs }: Window,
): readonly Found[] {
  const upTo = resolutions.slice(0, resolutions.indexOf(resolution) + 1);
  return [...targets.keys()].flatMap((targetId) => {
    const buckets = upTo.flatMap((each) => open.get(targetId)?.[each] ?? []);
    return [...Map.groupBy(buckets, (bucket) => bucketStart(resolution, bucket.startMs))].flatMap(
      ([atMs, together]) =>
        atMs < startMs || atMs >= endMs || together.every(isEmptyBucket)
          ? []
          : [{ targetId, bucket: together.reduce(addBucket, emptyBucket(atMs)) }],
    );
  });
}
