import { resolutions, statuses } from "../history.ts";
import type { Bucket, Period, Resolution, StoredChange } from "../history.ts";
import { sum, trueBuckets } from "./buckets.ts";
import { damagesOf, violation, type Evidence, type Violation } from "./evidence.ts";
import { without } from "./periods.ts";
import type { TargetHistory } from "./target-history.ts";
import type { TrueChange, Truth } from "./truth.ts";

const mostViolations = 3;

/** What is stored of a target is what its polls showed, to the millisecond. */
export function checkHistory(
  evidence: Evidence,
  target: string,
  { truth, boxes }: TargetHistory,
): readonly Violation[] {
  const stored = evidence.stored.get(target);
  if (!stored) return [violation(`${target}: nothing is stored`, target)];
  const damaged = damagesOf(evidence, "change").filter((each) => each.target === target);
  const changes = linesWithout(
    [...truth.changes, ...boxes.changes].map(trueChangeLine),
    damaged.map(({ line }) => line),
  );
  // What a change says that cannot be read is missing from all that follows until the next one, and what a server's row says
  // is forgotten by the next process.
  const isDamaged =
    damaged.length > 0 || damagesOf(evidence, "servers").some((each) => each.target === target);
  const faults = [
    ...differences(stored.changes.map(changeLine), changes).map((fault) => `changes ${fault}`),
    ...(isDamaged ? [] : resolutions).flatMap((resolution) => {
      const found = stored.buckets.get(resolution) ?? [];
      const expected = trueBuckets(truth, resolution);
      return bucketFaults(resolution, found, expected);
    }),
    ...gapFaults(stored.gaps, truth).map((fault) => `gaps ${fault}`),
  ];
  return faults.map((fault) => violation(`${target}: ${fault}`, target));
}

function changeLine({ atMs, sandboxId, serverId, from, to, ...rest }: StoredChange): string {
  const { dwellMs, observation } = rest;
  const subject = [sandboxId, serverId ?? []].flat().join(" ");
  return JSON.stringify([atMs, subject, from, to, dwellMs, observation]);
}

function trueChangeLine({ atMs, server, from, to, dwellMs, observation }: TrueChange): string {
  return JSON.stringify([atMs, server, from, to, dwellMs, observation]);
}

function bucketFaults(
  resolution: Resolution,
  found: readonly Bucket[],
  expected: readonly Bucket[],
): readonly string[] {
  const recordedMs = sum(found.map((bucket) => bucket.recordedMs));
  const passedMs = sum(expected.map((bucket) => bucket.recordedMs));
  const total = `${recordedMs} ms are recorded in ${resolution}, ${passedMs} ms passed`;
  const lines = differences(found.flatMap(bucketLines), expected.flatMap(bucketLines));
  return [
    ...(recordedMs === passedMs ? [] : [total]),
    ...lines.map((line) => `buckets of ${resolution} ${line}`),
  ];
}

function bucketLines(bucket: Bucket): readonly string[] {
  const { startMs, recordedMs, unobservedMs, names } = bucket;
  if (recordedMs === 0 && names.size === 0) return [];
  return [
    JSON.stringify([startMs, recordedMs, unobservedMs]),
    ...Array.from(names, ([name, account]) => {
      const { exhaustedMs, dwells, peaks } = account;
      const ms = statuses.map((status) => account.ms[status]);
      const parts = [account.unobservedMs, peaks?.occupied, peaks?.servers, exhaustedMs];
      return JSON.stringify([startMs, name, ms, ...parts, dwells.counts, dwells.sumMs]);
    }),
  ];
}

function differences(found: readonly string[], expected: readonly string[]): readonly string[] {
  return [
    ...linesWithout(expected, found)
      .slice(0, mostViolations)
      .map((line) => `lack ${line}`),
    ...linesWithout(found, expected)
      .slice(0, mostViolations)
      .map((line) => `invent ${line}`),
  ];
}

/** With repetitions. */
function linesWithout(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** The stored gaps are the time of the calendar in which nobody observed the target. */
function gapFaults(stored: readonly Period[], { stretches }: Truth): readonly string[] {
  const unobserved = stretches.filter(({ observed }) => !observed);
  const textsOf = (what: string, periods: readonly Period[]): readonly string[] =>
    periods
      .slice(0, mostViolations)
      .map(({ fromMs, toMs }) => `${what} from ${fromMs} to ${toMs} UTC`);
  const overlaps = stored.filter((each, at) => each.fromMs < (stored[at - 1]?.toMs ?? -Infinity));
  const missing = unobserved.flatMap((each) => without(each, stored));
  const invented = stored.flatMap((each) => without(each, unobserved));
  return [
    ...textsOf("overlap", overlaps),
    ...textsOf("lack the time", missing),
    ...textsOf("invent the time", invented),
  ];
}
