import { statuses } from "../../../src/fleet/model.ts";
import { bucketStart, resolutionMs } from "../../../src/fleet/buckets.ts";
import type { Bucket, Resolution } from "../../../src/fleet/buckets.ts";
import { dwellsOf } from "../../../src/fleet/dwell.ts";
import type { DwellHistogram } from "../../../src/fleet/dwell.ts";
import { byStatus } from "../../../src/fleet/tallies.ts";
import type { CountByStatus } from "../../../src/fleet/tallies.ts";
import type { TrueChange, TrueStretch, Truth } from "./truth.ts";

interface Extremes {
  readonly least: CountByStatus;
  readonly most: CountByStatus;
}

/** A bucket as plain data, for comparing. */
export interface PlainBucket {
  readonly startMs: number;
  readonly recordedMs: number;
  readonly unobservedMs: number;
  readonly extent: Extremes | null;
  readonly names: Readonly<Record<string, unknown>>;
}

interface Piece extends Pick<TrueStretch, "servers" | "watched"> {
  readonly ms: number;
}

/** What of the truth falls into a bucket. */
interface Share {
  readonly pieces: Piece[];
  readonly ended: TrueChange[];
}

/** The buckets in which anything happened, each from the truth alone. */
export function trueBuckets(truth: Truth, resolution: Resolution): readonly PlainBucket[] {
  const shares = new Map<number, Share>();
  const shareAt = (startMs: number): Share => {
    const share = shares.get(startMs) ?? { pieces: [], ended: [] };
    shares.set(startMs, share);
    return share;
  };
  const size = resolutionMs[resolution];
  for (const { fromMs, toMs, watched, servers } of truth.stretches) {
    for (let startMs = bucketStart(resolution, fromMs); startMs < toMs; startMs += size) {
      const ms = Math.min(toMs, startMs + size) - Math.max(fromMs, startMs);
      if (ms > 0) shareAt(startMs).pieces.push({ ms, watched, servers });
    }
  }
  for (const change of truth.changes) {
    // Dwell times in other statuses are not accounted for.
    if (change.dwellMs === null || change.from !== "occupied") continue;
    shareAt(bucketStart(resolution, change.atMs)).ended.push(change);
  }
  return [...shares]
    .toSorted(([one], [other]) => one - other)
    .map(([startMs, share]) => trueBucket(startMs, share));
}

/** The same of a bucket of the product's. */
export function plainBucket(bucket: Bucket): PlainBucket {
  const { startMs, recordedMs, unobservedMs, extent } = bucket;
  const names = Object.fromEntries(
    Array.from(bucket.names, ([name, account]) => [nameField(name), account]),
  );
  return { startMs, recordedMs, unobservedMs, extent, names };
}

function trueBucket(startMs: number, { pieces, ended }: Share): PlainBucket {
  const all = [...pieces.flatMap(({ servers }) => servers), ...ended];
  const names = new Set(all.map(({ server }) => server.serverName ?? ""));
  const account = (name: string): unknown => {
    const own = pieces.map(({ servers, ...piece }) => ({
      ...piece,
      servers: servers.filter(({ server }) => (server.serverName ?? "") === name),
    }));
    const counted = own.map((piece) => ({ ...piece, counts: countOf(piece) }));
    return {
      ms: byStatus((status) => sum(counted.map(({ ms, counts }) => ms * counts[status]))),
      unobservedMs: sum(
        own.map(({ ms, servers }) => ms * servers.filter(({ status }) => status === null).length),
      ),
      extent: extremes(own),
      exhaustedMs: sum(
        counted
          .filter(({ counts }) => counts.idle === 0 && statuses.some((each) => counts[each] > 0))
          .map(({ ms }) => ms),
      ),
      dwells: dwellsIn(ended, name),
    };
  };
  return {
    startMs,
    recordedMs: sum(pieces.map(({ ms }) => ms)),
    unobservedMs: sum(pieces.filter(({ watched }) => !watched).map(({ ms }) => ms)),
    extent: extremes(pieces),
    names: Object.fromEntries(Array.from(names, (name) => [nameField(name), account(name)])),
  };
}

function countOf({ servers }: Pick<Piece, "servers">): CountByStatus {
  return byStatus((wanted) => servers.filter(({ status }) => status === wanted).length);
}

function extremes(pieces: readonly Piece[]): Extremes | null {
  const counts = pieces.filter(({ watched }) => watched).map(countOf);
  if (counts.length === 0) return null;
  return {
    least: byStatus((status) => Math.min(...counts.map((each) => each[status]))),
    most: byStatus((status) => Math.max(...counts.map((each) => each[status]))),
  };
}

function dwellsIn(ended: readonly TrueChange[], name: string): DwellHistogram {
  return dwellsOf(
    ended
      .filter(({ server }) => (server.serverName ?? "") === name)
      .map(({ dwellMs }) => dwellMs ?? 0),
  );
}

/** A name that is safe as a property. */
function nameField(name: string): string {
  return `name ${name}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
