import type { NameAccount } from "../../../src/fleet/buckets.ts";
import type { Segment } from "../../../src/store/unit-history.ts";
import type { Truth } from "../../sim/oracle/truth.ts";

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

type TrueServer = Truth["stretches"][number]["servers"][number];

export function hourOf(atMs: number): number {
  return Math.floor(atMs / 3_600_000) * 3_600_000;
}

/** Milliseconds in each status and unobserved, by key; none that are all zero. */
export function timesOf(accounts: ReadonlyMap<string, NameAccount>) {
  const times = accounts.entries().map(([key, { ms, unobservedMs }]) => {
    return [key, { ...ms, unobserved: unobservedMs }] as const;
  });
  const all = times.filter(([, each]) => sum(Object.values(each)) > 0);
  return Object.fromEntries([...all].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

export function trueSums(
  { stretches }: Truth,
  range: Range,
  keyOf: (server: TrueServer) => string,
): Readonly<Record<string, Record<string, number>>> {
  const sums: Record<string, Record<string, number>> = {};
  for (const { fromMs, toMs, servers } of stretches) {
    const ms = Math.min(toMs, range.toMs) - Math.max(fromMs, range.fromMs);
    for (const server of ms > 0 ? servers : []) {
      const nothing = { idle: 0, occupied: 0, error: 0, unknown: 0, unobserved: 0 };
      const own = (sums[keyOf(server)] ??= nothing);
      const status = server.status ?? "unobserved";
      own[status] = (own[status] ?? 0) + ms;
    }
  }
  return sums;
}

export function nonZero(peaks: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map(peaks.entries().filter(([, peak]) => peak > 0));
}

export function truePeaks({ stretches }: Truth, range: Range): ReadonlyMap<string, number> {
  const peaks = new Map<string, number>();
  for (const { fromMs, toMs, servers } of stretches) {
    if (Math.min(toMs, range.toMs) <= Math.max(fromMs, range.fromMs)) continue;
    const occupied = servers.filter(({ status }) => status === "occupied");
    for (const [name, some] of Map.groupBy(occupied, (server) => server.name)) {
      peaks.set(name, Math.max(peaks.get(name) ?? 0, some.length));
    }
  }
  return peaks;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** A clock that was stepped skipped unobserved time; a small difference is no step. */
const slackMs = 1_000;

/** Gaps that adjoin each other have different reasons. */
export function joined(gaps: readonly { readonly fromMs: number; readonly toMs: number }[]) {
  const all: { fromMs: number; toMs: number }[] = [];
  for (const { fromMs, toMs } of gaps) {
    const last = all.at(-1);
    if (last?.toMs === fromMs) last.toMs = toMs;
    else all.push({ fromMs, toMs });
  }
  return all;
}

export function sorted<Value>(
  byName: ReadonlyMap<string, Value>,
): readonly (readonly [string, Value])[] {
  return [...byName].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

export function trueGaps({ stretches }: Truth): readonly { fromMs: number; toMs: number }[] {
  const gaps: { fromMs: number; toMs: number }[] = [];
  for (const [at, { fromMs, toMs, observed }] of stretches.entries()) {
    const beforeMs = stretches[at - 1]?.toMs ?? fromMs;
    const gap = { fromMs: beforeMs, toMs: observed ? fromMs : toMs };
    if (gap.toMs - gap.fromMs <= (observed ? slackMs : 0)) continue;
    const last = gaps.at(-1);
    if (last?.toMs === gap.fromMs) last.toMs = gap.toMs;
    else gaps.push(gap);
  }
  return gaps;
}

/** What a server or sandbox was throughout a range: before the first poll and in gaps nobody knows. */
export function trueTimeline(
  { stretches }: Truth,
  range: Range,
  subject: string,
): readonly Segment[] {
  const segments: Segment[] = [];
  const add = (status: Segment["status"], fromMs: number, toMs: number): void => {
    if (toMs <= fromMs) return;
    const last = segments.at(-1);
    if (last?.status === status) segments[segments.length - 1] = { ...last, toMs };
    else segments.push({ status, fromMs, toMs });
  };
  add("unobserved", range.fromMs, Math.min(range.toMs, stretches[0]?.fromMs ?? range.toMs));
  for (const { fromMs, toMs, observed, servers } of stretches) {
    const own = servers.find(({ server }) => server === subject);
    const status = own ? (own.status ?? "unobserved") : "absent";
    const [beginMs, endMs] = [Math.max(fromMs, range.fromMs), Math.min(toMs, range.toMs)];
    add(observed ? status : "unobserved", beginMs, endMs);
  }
  return segments;
}
