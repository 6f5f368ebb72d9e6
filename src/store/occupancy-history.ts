import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import {
  addBucket,
  bucketStart,
  coarserThan,
  emptyBucket,
  isEmptyBucket,
  partOfUnobserved,
  resolutionMs,
  resolutions,
} from "../fleet/buckets.ts";
import type { Gap, OpenBuckets } from "../fleet/accounting.ts";
import type { Bucket, Resolution } from "../fleet/buckets.ts";
import type { Target } from "../core/model.ts";
import { totalOfBucket } from "../fleet/totals.ts";
import type { BucketTotal } from "../fleet/totals.ts";
import { bucketOf, inWindow, readClosed, readClosedTotals, readNames } from "./closed-buckets.ts";
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

export interface TargetTotal {
  readonly target: Target;
  readonly total: BucketTotal;
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
   * yet, and with what passed unobserved and was kept in coarser buckets only. Some at a time, which are to be gone
   * through before the next are asked for.
   */
  buckets(query: BucketQuery): AsyncIterable<Iterable<TargetBucket>>;
  /** The same with all names added up in SQL. */
  totals(query: BucketQuery): AsyncIterable<Iterable<TargetTotal>>;
  /** Of each target and resolution of which anything is kept. */
  extents(): Promise<readonly BucketExtent[]>;
  /** When nobody observed a target, in order, clipped to the range. */
  gaps(query: GapQuery): AsyncIterable<Gap>;
}

/** Buckets of targets that are read with one statement. */
const bucketsAtOnce = 200;
const totalsAtOnce = 500;

export function createOccupancyHistory(
  reader: Kysely<Tables>,
  reading = createRowReading(),
): OccupancyHistory {
  async function* read<Value>(
    { resolution, fromMs, toMs, ...filter }: BucketQuery,
    atOnce: number,
    closed: (window: Window) => Promise<readonly Found<Value>[]>,
    of: (bucket: Bucket) => Value,
  ): AsyncIterable<Iterable<{ readonly target: Target; readonly value: Value }>> {
    const targets = await readTargets(reader, filter);
    if (targets.size === 0) return;
    // Before the closed ones: a bucket that closes meanwhile is found among both, and the closed one counts.
    const open = await readOpenBuckets(reader, reading);
    const span = spanOf(await readExtents(reader, targets, open), resolution);
    const stepMs = resolutionMs[resolution];
    const lastEndMs = Math.min(span.endMs, toMs);
    const windowMs = stepMs * Math.max(1, Math.floor(atOnce / Math.max(1, targets.size)));
    let startMs = Math.max(span.startMs, bucketStart(resolution, fromMs + stepMs - 1));
    for (; startMs < lastEndMs; startMs += windowMs) {
      const endMs = Math.min(startMs + windowMs, lastEndMs);
      const window = { targets, resolution, startMs, endMs };
      const found = new Map<string, Found<Value>>();
      const add = (each: Found<Value>): void => {
        found.set(`${each.startMs} ${each.targetId}`, each);
      };
      const made = ({ value, ...place }: Found<Bucket>): void =>
        add({ ...place, value: of(value) });
      for (const unobserved of await readUnobserved(reader, window)) {
        partsOf(unobserved, window).forEach(made);
      }
      openParts(open, window).forEach(made);
      (await closed(window)).forEach(add);
      const inOrder = [...found.values()].toSorted(
        (one, other) => one.startMs - other.startMs || one.targetId - other.targetId,
      );
      yield inOrder.flatMap(({ targetId, value }) => {
        const target = targets.get(targetId);
        return target ? [{ target, value }] : [];
      });
      await setImmediate();
    }
  }

  return {
    async *buckets(query) {
      for await (const some of read(
        query,
        bucketsAtOnce,
        (window) => readClosed(reader, window),
        same,
      )) {
        yield Iterator.from(some).map(({ target, value }) => ({ target, bucket: value }));
      }
    },
    async *totals(query) {
      const closed = (window: Window): Promise<readonly Found<BucketTotal>[]> =>
        readClosedTotals(reader, window);
      for await (const some of read(query, totalsAtOnce, closed, totalOfBucket)) {
        yield Iterator.from(some).map(({ target, value }) => ({ target, total: value }));
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

const same = (bucket: Bucket): Bucket => bucket;

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
      const place = `${row.start_at_ms} ${row.target_id}`;
      const bucket = bucketOf(row, names.get(place) ?? new Map());
      found.push({ targetId: row.target_id, resolution: coarser, bucket });
    }
  }
  return found;
}

/** The finer buckets that an unobserved coarser one stands for, within a window. */
function partsOf(
  { targetId, resolution: coarser, bucket }: Unobserved,
  { resolution, startMs, endMs }: Window,
): readonly Found<Bucket>[] {
  const part = partOfUnobserved(bucket, coarser, resolution);
  if (!part) return [];
  const found: Found<Bucket>[] = [];
  const lastMs = Math.min(bucket.startMs + resolutionMs[coarser], endMs);
  for (
    let atMs = Math.max(bucket.startMs, startMs);
    atMs < lastMs;
    atMs += resolutionMs[resolution]
  ) {
    found.push({ targetId, startMs: atMs, value: { ...part, startMs: atMs } });
  }
  return found;
}

/** What the open buckets of this and the finer resolutions make together, where that begins within a window. */
function openParts(
  open: ReadonlyMap<number, OpenBuckets>,
  { targets, resolution, startMs, endMs }: Window,
): readonly Found<Bucket>[] {
  const upTo = resolutions.slice(0, resolutions.indexOf(resolution) + 1);
  return [...targets.keys()].flatMap((targetId) => {
    const buckets = upTo.flatMap((each) => open.get(targetId)?.[each] ?? []);
    return [...Map.groupBy(buckets, (bucket) => bucketStart(resolution, bucket.startMs))].flatMap(
      ([atMs, together]) =>
        atMs < startMs || atMs >= endMs || together.every(isEmptyBucket)
          ? []
          : [{ targetId, startMs: atMs, value: together.reduce(addBucket, emptyBucket(atMs)) }],
    );
  });
}
