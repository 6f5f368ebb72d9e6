import { resolutionMs, statuses } from "../history.ts";
import type { ByStatus, Extent, Resolution, Status } from "../history.ts";
import type { TrueChange, TrueServer, TrueStretch, Truth } from "./truth.ts";

/** What a bucket should hold of the servers of one name. */
export interface TrueAccount {
  readonly ms: ByStatus<number>;
  readonly unobservedMs: number;
  readonly extent: Extent | null;
  readonly exhaustedMs: number;
  /** How long servers had been occupied that ceased to be in it. */
  readonly dwellsMs: readonly number[];
}

export interface TrueBucket {
  readonly startMs: number;
  readonly recordedMs: number;
  readonly unobservedMs: number;
  readonly extent: Extent | null;
  readonly names: ReadonlyMap<string, TrueAccount>;
}

interface Piece {
  readonly ms: number;
  readonly observed: boolean;
  readonly servers: readonly TrueServer[];
}

/** What of the truth falls into a bucket. */
interface Share {
  readonly pieces: Piece[];
  readonly ended: TrueChange[];
}

/** The buckets in which anything happened: stretches of the calendar in UTC. */
export function trueBuckets(truth: Truth, resolution: Resolution): readonly TrueBucket[] {
  const size = resolutionMs[resolution];
  const startOf = (atMs: number): number => Math.floor(atMs / size) * size;
  const shares = new Map<number, Share>();
  const shareAt = (startMs: number): Share => {
    const share = shares.get(startMs) ?? { pieces: [], ended: [] };
    shares.set(startMs, share);
    return share;
  };
  for (const stretch of truth.stretches) {
    for (let startMs = startOf(stretch.fromMs); startMs < stretch.toMs; startMs += size) {
      const ms = Math.min(stretch.toMs, startMs + size) - Math.max(stretch.fromMs, startMs);
      if (ms > 0) shareAt(startMs).pieces.push(pieceOf(stretch, ms));
    }
  }
  for (const change of truth.changes) {
    if (change.dwellMs !== null) shareAt(startOf(change.atMs)).ended.push(change);
  }
  return [...shares]
    .toSorted(([one], [other]) => one - other)
    .map(([startMs, share]) => trueBucket(startMs, share));
}

function pieceOf({ observed, servers }: TrueStretch, ms: number): Piece {
  return { ms, observed, servers };
}

function trueBucket(startMs: number, { pieces, ended }: Share): TrueBucket {
  const servers = pieces.flatMap((piece) => piece.servers);
  const names = new Set(
    [...servers, ...ended.filter(({ from }) => from === "occupied")].map(({ name }) => name),
  );
  return {
    startMs,
    recordedMs: sum(pieces.map(({ ms }) => ms)),
    unobservedMs: sum(pieces.map(({ ms, observed }) => (observed ? 0 : ms))),
    extent: extentOf(pieces),
    names: new Map(
      Array.from(names, (name) => {
        const own = pieces.map((piece) => ({
          ...piece,
          servers: piece.servers.filter((server) => server.name === name),
        }));
        return [name, accountOf(own, dwells(ended, name))];
      }),
    ),
  };
}

function accountOf(pieces: readonly Piece[], dwellsMs: readonly number[]): TrueAccount {
  const counted = pieces.map((piece) => ({ ...piece, counts: countOf(piece) }));
  const isExhausted = ({ counts }: { readonly counts: ByStatus<number> }): boolean =>
    counts.idle === 0 && statuses.some((each) => counts[each] > 0);
  return {
    ms: byStatus((status) => sum(counted.map(({ ms, counts }) => ms * counts[status]))),
    unobservedMs: sum(
      pieces.map(({ ms, servers }) => ms * servers.filter(({ status }) => status === null).length),
    ),
    extent: extentOf(pieces),
    exhaustedMs: sum(counted.filter(isExhausted).map(({ ms }) => ms)),
    dwellsMs,
  };
}

function countOf({ servers }: Piece): ByStatus<number> {
  return byStatus((wanted) => servers.filter(({ status }) => status === wanted).length);
}

function extentOf(pieces: readonly Piece[]): Extent | null {
  const counts = pieces.filter(({ observed }) => observed).map(countOf);
  if (counts.length === 0) return null;
  return {
    least: byStatus((status) => Math.min(...counts.map((each) => each[status]))),
    most: byStatus((status) => Math.max(...counts.map((each) => each[status]))),
  };
}

function dwells(ended: readonly TrueChange[], name: string): readonly number[] {
  return ended
    .filter((each) => each.name === name && each.from === "occupied")
    .map(({ dwellMs }) => dwellMs ?? 0);
}

function byStatus<T>(valueOf: (status: Status) => T): ByStatus<T> {
  return {
    idle: valueOf("idle"),
    occupied: valueOf("occupied"),
    error: valueOf("error"),
    unknown: valueOf("unknown"),
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
