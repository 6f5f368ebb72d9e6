import { resolutionMs, statuses } from "../history.ts";
import type { Account, Bucket, ByStatus, Resolution, Status } from "../history.ts";
import type { TrueChange, TrueStretch, Truth } from "./truth.ts";

/** A part of a stretch, within one bucket. */
type Piece = Pick<TrueStretch, "observed" | "servers"> & { readonly ms: number };

/** The buckets in which anything happened: periods of the calendar in UTC. */
export function trueBuckets(truth: Truth, resolution: Resolution): readonly Bucket[] {
  const size = resolutionMs[resolution];
  const startOf = (atMs: number): number => Math.floor(atMs / size) * size;
  const pieces = truth.stretches.flatMap(({ fromMs, toMs, observed, servers }) => {
    const count = Math.max(0, Math.ceil((toMs - startOf(fromMs)) / size));
    return Array.from({ length: count }, (_, at) => {
      const startMs = startOf(fromMs) + at * size;
      const ms = Math.min(toMs, startMs + size) - Math.max(fromMs, startMs);
      return { startMs, ms, observed, servers };
    });
  });
  const inBuckets = Map.groupBy(
    pieces.filter(({ ms }) => ms > 0),
    ({ startMs }) => startMs,
  );
  const dwells = Map.groupBy(
    truth.changes.filter(({ dwellMs, from }) => dwellMs !== null && from === "occupied"),
    ({ atMs }) => startOf(atMs),
  );
  const starts = [...new Set([...inBuckets.keys(), ...dwells.keys()])].toSorted((a, b) => a - b);
  return starts.map((startMs) =>
    trueBucket(startMs, inBuckets.get(startMs) ?? [], dwells.get(startMs) ?? []),
  );
}

function trueBucket(
  startMs: number,
  pieces: readonly Piece[],
  dwells: readonly TrueChange[],
): Bucket {
  const servers = [...pieces.flatMap((piece) => piece.servers), ...dwells];
  const names = new Set(servers.map(({ name }) => name));
  return {
    startMs,
    recordedMs: sum(pieces.map(({ ms }) => ms)),
    unobservedMs: sum(pieces.map(({ ms, observed }) => (observed ? 0 : ms))),
    names: new Map(Array.from(names, (name) => [name, accountOf(name, pieces, dwells)])),
  };
}

function accountOf(name: string, all: readonly Piece[], dwells: readonly TrueChange[]): Account {
  const pieces = all.map((piece) => {
    const servers = piece.servers.filter((server) => server.name === name);
    return { ...piece, servers, counts: countOf(servers) };
  });
  const exhausted = pieces.filter(
    ({ counts }) => counts.idle === 0 && statuses.some((each) => counts[each] > 0),
  );
  const dwellsMs = dwells.filter((each) => each.name === name).map(({ dwellMs }) => dwellMs ?? 0);
  return {
    ms: byStatus((status) => sum(pieces.map(({ ms, counts }) => ms * counts[status]))),
    unobservedMs: sum(
      pieces.map(({ ms, servers }) => ms * servers.filter(({ status }) => status === null).length),
    ),
    peaks: peaksOf(pieces),
    exhaustedMs: sum(exhausted.map(({ ms }) => ms)),
    dwells: { counts: histogramOf(dwellsMs), sumMs: sum(dwellsMs) },
  };
}

/** How many servers are in each status. */
export function countOf(servers: Iterable<{ readonly status: Status | null }>): ByStatus<number> {
  const all = [...servers];
  return byStatus((wanted) => all.filter(({ status }) => status === wanted).length);
}

function peaksOf(pieces: readonly Piece[]): Account["peaks"] {
  const counts = pieces.filter(({ observed }) => observed).map(({ servers }) => countOf(servers));
  if (counts.length === 0) return null;
  return {
    occupied: Math.max(...counts.map(({ occupied }) => occupied)),
    servers: Math.max(...counts.map((each) => sum(Object.values(each)))),
  };
}

export function byStatus(valueOf: (status: Status) => number): ByStatus<number> {
  const [idle = 0, occupied = 0, error = 0, unknown = 0] = statuses.map(valueOf);
  return { idle, occupied, error, unknown };
}

/** The longest dwell time of each bucket of the histogram, in seconds; one more bucket has what is longer. */
const dwellBounds = [
  10, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800,
];

function histogramOf(dwellsMs: readonly number[]): readonly number[] {
  const bounds = [...dwellBounds, Infinity];
  const cumulative = bounds.map((bound) => dwellsMs.filter((ms) => ms <= bound * 1_000).length);
  return cumulative.map((count, at) => count - (cumulative[at - 1] ?? 0));
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
