import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Gap, OpenBuckets } from "../fleet/accounting.ts";
import {
  addAccount,
  addBucket,
  bucketStart,
  coarserThan,
  emptyAccount,
  emptyBucket,
  isEmptyBucket,
  mergeNames,
  partOfUnobserved,
  resolutionMs,
  resolutions,
} from "../fleet/buckets.ts";
import type { Bucket, NameAccount, Resolution } from "../fleet/buckets.ts";
import type { Target } from "../fleet/model.ts";
import { readGaps, type GapQuery } from "./gaps.ts";
import { accountFromColumns, extentFromColumns, totalFromColumns } from "./occupancy-columns.ts";
import { readOpenBuckets } from "./occupancy-rows.ts";
import { createRowReading } from "./damaged-rows.ts";
import { readConsistently } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

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

/** What is stored of a target in a resolution: the starts of its first and its last bucket. UTC milliseconds. */
export interface BucketExtent {
  readonly target: Target;
  readonly resolution: Resolution;
  readonly firstMs: number;
  readonly lastMs: number;
}

export type Names = "each" | "together" | readonly string[];

/** The buckets of some targets; of the open ones as they were at one moment. */
export interface OccupancyReader {
  /** Of each target and resolution of which anything is stored. */
  readonly extents: readonly BucketExtent[];
  /**
   * By start, then by target, in the order in which targets were first polled. Complete: with what is not closed
   * yet, and with what passed unobserved and was stored in coarser buckets only. Some at a time.
   *
   * @param names whether the servers of each name have an account, or all have one, under the empty name; or the names
   *   of those that have one together
   */
  readonly buckets: (
    bucketRange: BucketRange,
    names?: Names,
  ) => AsyncIterable<readonly TargetBucket[]>;
}

export type OccupancyHistory = ReturnType<typeof createOccupancyHistory>;

/** Reads buckets and gaps of targets, concurrently with writes. */
export function createOccupancyHistory(reader: Db, reading = createRowReading()) {
  return {
    async open(filter: TargetFilter = {}): Promise<OccupancyReader> {
      const { targets, open, extents } = await readConsistently(reader, async (trx) => {
        const chosen = await readTargets(trx, filter);
        const openBuckets =
          chosen.size === 0 ? new Map() : await readOpenBuckets(trx, null, reading);
        const found = await readExtents(trx, chosen, openBuckets);
        return { targets: chosen, open: openBuckets, extents: found };
      });
      return {
        extents,
        buckets: (bucketRange, names = "each") =>
          readBuckets(reader, { targets, open, extents, bucketRange, names }),
      };
    },
    /** The gaps of a target in order, clipped to the range. */
    gaps: (query: GapQuery): AsyncIterable<Gap> => readGaps(reader, query),
  };
}

type Targets = ReadonlyMap<number, Target>;
type OpenByTarget = ReadonlyMap<number, OpenBuckets>;

async function readTargets(reader: Db, { region, key }: TargetFilter): Promise<Targets> {
  if (region?.length === 0 || key?.length === 0) return new Map();
  let select = reader.selectFrom("targets").select(["id", "region", "key"]);
  if (region) select = select.where("region", "in", region);
  if (key) select = select.where("key", "in", key);
  const rows = await select.orderBy("id").execute();
  return new Map(rows.map((row) => [row.id, { region: row.region, key: row.key }]));
}

async function readExtents(
  reader: Db,
  targets: Targets,
  open: OpenByTarget,
): Promise<readonly BucketExtent[]> {
  const extents: BucketExtent[] = [];
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
          starts.select(({ fn }) => fn.min("start_at_ms").as("first")).as("first"),
          starts.select(({ fn }) => fn.max("start_at_ms").as("last")).as("last"),
        ];
      })
      .execute();
    for (const { id, first, last } of rows) {
      const target = targets.get(id);
      const opened = open.get(id)?.[resolution];
      const openMs = opened && !isEmptyBucket(opened) ? opened.startMs : null;
      const firstMs = first ?? openMs;
      const lastMs = openMs ?? last;
      if (!target || firstMs === null || lastMs === null) continue;
      extents.push({ target, resolution, firstMs, lastMs });
    }
    await setImmediate();
  }
  return extents;
}

interface Reading {
  readonly targets: Targets;
  readonly open: OpenByTarget;
  readonly extents: readonly BucketExtent[];
  readonly bucketRange: BucketRange;
  readonly names: Names;
}

/** Buckets that are read with one statement, in a few milliseconds: polls and deliveries go on in between. */
const bucketsAtOnce = 50;
const totalsAtOnce = 1_000;

async function* readBuckets(
  reader: Db,
  { targets, open, extents, bucketRange, names }: Reading,
): AsyncIterable<readonly TargetBucket[]> {
  if (targets.size === 0) return;
  const { resolution, fromMs, toMs } = bucketRange;
  const stepMs = resolutionMs[resolution];
  const windowMs =
    stepMs *
    Math.max(1, Math.floor((names === "each" ? bucketsAtOnce : totalsAtOnce) / targets.size));
  const span = spanOf(extents, resolution);
  const lastEndMs = Math.min(span.endMs, toMs);
  let startMs = Math.max(span.startMs, bucketStart(resolution, fromMs + stepMs - 1));
  for (; startMs < lastEndMs; startMs += windowMs) {
    const endMs = Math.min(startMs + windowMs, lastEndMs);
    const window: Window = { targets, resolution, startMs, endMs };
    const { unobserved, closed } = await readConsistently(reader, async (trx) => ({
      unobserved: await readUnobserved(trx, window),
      closed: await readClosed(trx, window, names),
    }));
    const made = [...unobserved, ...openParts(open, window)];
    const all = [
      ...made.map((each) => ({ ...each, bucket: withNames(each.bucket, names) })),
      ...closed,
    ];
    // If several stand for the same time, the last one is used: a bucket that closed after the open ones were read is
    // found among both.
    const found = new Map(all.map((each) => [`${each.bucket.startMs} ${each.targetId}`, each]));
    yield [...found.values()]
      .toSorted(
        (one, other) => one.bucket.startMs - other.bucket.startMs || one.targetId - other.targetId,
      )
      .flatMap(({ targetId, bucket }) => {
        const target = targets.get(targetId);
        return target ? [{ target, bucket }] : [];
      });
    await setImmediate();
  }
}

/** From when to when there can be any bucket of a resolution: its own, coarser ones that stand for it, and open ones. */
function spanOf(extents: readonly BucketExtent[], resolution: Resolution) {
  const ends = extents.map(
    (each) =>
      bucketStart(resolution, each.lastMs) +
      Math.max(resolutionMs[each.resolution], resolutionMs[resolution]),
  );
  const firstMs = extents.reduce((ms, each) => Math.min(ms, each.firstMs), Infinity);
  return {
    startMs: bucketStart(resolution, firstMs),
    endMs: ends.reduce((ms, each) => Math.max(ms, each), -Infinity),
  };
}

/** Starts of buckets of some targets: UTC milliseconds, inclusive and exclusive. */
interface Window {
  readonly targets: Targets;
  readonly resolution: Resolution;
  readonly startMs: number;
  readonly endMs: number;
}

interface Found {
  readonly targetId: number;
  readonly bucket: Bucket;
}

function isWithin({ targets, resolution, startMs, endMs }: Window) {
  return sql<boolean>`
    resolution = ${resolution} and start_at_ms >= ${startMs} and start_at_ms < ${endMs}
    and target_id in (${sql.join([...targets.keys()])})
  `;
}

async function readClosed(reader: Db, window: Window, names: Names): Promise<readonly Found[]> {
  const rows = await reader
    .selectFrom("target_buckets")
    .selectAll()
    .where(isWithin(window))
    .execute();
  const accounts = names === "together" ? null : await readNames(reader, window, names);
  return rows.map((row) => {
    const own = accounts ? accounts.get(keyOf(row)) : new Map([["", totalFromColumns(row)]]);
    const found = toFound(row, own ?? noAccounts);
    return { ...found, bucket: withNames(found.bucket, names) };
  });
}

function withNames(bucket: Bucket, names: Names): Bucket {
  if (names === "each") return bucket;
  if (names === "together") return mergeNames(bucket);
  const some = names.map((name) => bucket.names.get(name) ?? emptyAccount);
  // Of several names together neither the extent is known nor how long they were exhausted.
  const all = { ...some.reduce(addAccount, emptyAccount), extent: null, exhaustedMs: 0 };
  return { ...bucket, names: new Map([["", all]]) };
}

/** By the start of the bucket and the target. */
type Accounts = ReadonlyMap<string, ReadonlyMap<string, NameAccount>>;

function keyOf(row: { readonly start_at_ms: number; readonly target_id: number }): string {
  return `${row.start_at_ms} ${row.target_id}`;
}

const noAccounts: Bucket["names"] = new Map();

function toFound(row: Tables["target_buckets"], names: Bucket["names"]): Found {
  const bucket = {
    startMs: row.start_at_ms,
    recordedMs: row.recorded_ms,
    unobservedMs: row.unobserved_ms,
    extent: extentFromColumns(row),
    names,
  };
  return { targetId: row.target_id, bucket };
}

async function readNames(reader: Db, window: Window, names: Names = "each"): Promise<Accounts> {
  let select = reader
    .selectFrom("occupancy")
    .innerJoin("server_names", "server_names.id", "occupancy.name_id")
    .selectAll("occupancy")
    .select("server_names.name")
    .where(isWithin(window));
  if (typeof names !== "string") select = select.where("server_names.name", "in", names);
  const rows = await select.execute();
  const all = new Map<string, Map<string, NameAccount>>();
  for (const row of rows) {
    const key = keyOf(row);
    const accounts = all.get(key) ?? new Map<string, NameAccount>();
    all.set(key, accounts.set(row.name, accountFromColumns(row)));
  }
  return all;
}

/** What coarser buckets that passed as a whole without being observed stand for, where no finer ones were written; from the coarsest. */
async function readUnobserved(reader: Db, window: Window): Promise<readonly Found[]> {
  const { resolution, startMs, endMs } = window;
  const found: Found[] = [];
  for (const coarser of coarserThan(resolution).toReversed()) {
    const wholeMs = resolutionMs[coarser];
    const within = { ...window, resolution: coarser, startMs: bucketStart(coarser, startMs) };
    const finer = resolutions.slice(resolutions.indexOf(resolution), resolutions.indexOf(coarser));
    const rows = await reader
      .selectFrom("target_buckets")
      .selectAll()
      .where(isWithin(within))
      .where("recorded_ms", "=", wholeMs)
      .where("unobserved_ms", "=", wholeMs)
      // After a step backwards of the clock, what one finer bucket has too much can make up for others.
      .where(sql<boolean>`not exists (
        select 1 from target_buckets as finer
        where finer.resolution in (${sql.join(finer)})
          and finer.target_id = target_buckets.target_id
          and finer.start_at_ms >= target_buckets.start_at_ms
          and finer.start_at_ms < target_buckets.start_at_ms + ${wholeMs}
      )`)
      .execute();
    if (rows.length === 0) continue;
    const accounts = await readNames(reader, within);
    for (const row of rows) {
      const { targetId, bucket } = toFound(row, accounts.get(keyOf(row)) ?? noAccounts);
      const part = partOfUnobserved(bucket, coarser, resolution);
      if (!part) continue;
      const lastMs = Math.min(bucket.startMs + wholeMs, endMs);
      let atMs = Math.max(bucket.startMs, startMs);
      for (; atMs < lastMs; atMs += resolutionMs[resolution]) {
        found.push({ targetId, bucket: { ...part, startMs: atMs } });
      }
    }
  }
  return found;
}

/** What the open buckets of this and the finer resolutions make together, where that begins within a window. */
function openParts(
  open: OpenByTarget,
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
