import { resolutionMs, resolutions, statuses } from "../history.ts";
import type { Bucket, Period, Resolution, StoredChange } from "../history.ts";
import { sum, trueBuckets } from "./buckets.ts";
import { damagesOf, violation, type Evidence, type Violation } from "./evidence.ts";
import { without } from "./periods.ts";
import type { TargetHistory } from "./target-history.ts";
import { slackMs, type PollRecord, type TrueChange } from "./truth.ts";

const mostViolations = 3;

/** What is stored of a target is what its polls showed, to the millisecond. */
export function checkHistory(
  evidence: Evidence,
  target: string,
  { polls, truth, boxes }: TargetHistory,
): readonly Violation[] {
  const stored = evidence.stored.get(target);
  if (!stored) return [violation(`${target}: nothing is stored`, target)];
  const damaged = damagesOf(evidence, "change").filter((each) => each.target === target);
  const changes = linesWithout(
    [...truth.changes, ...boxes.changes].map(trueChangeLine),
    damaged.map(({ line }) => line),
  );
  const isSteppedBack = steppedBackAt(polls) >= 0;
  const faults = [
    ...differences(stored.changes.map(changeLine), changes).map((fault) => `changes ${fault}`),
    ...resolutions.flatMap((resolution) => {
      const found = stored.buckets.get(resolution) ?? [];
      const expected = trueBuckets(truth, resolution);
      return bucketFaults(evidence, target, resolution, { isSteppedBack, found, expected });
    }),
    ...gapFaults(stored.gaps, polls).map((fault) => `gaps ${fault}`),
  ];
  return faults.map((fault) => violation(`${target}: ${fault}`, target));
}

/** The first poll before which the wall clock was set back, so that the calendar has some time twice. */
function steppedBackAt(polls: readonly PollRecord[]): number {
  return polls.findIndex(
    ({ utcMs, elapsedMs }, at) => utcMs - elapsedMs < (polls[at - 1]?.utcMs ?? -Infinity),
  );
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
  evidence: Evidence,
  target: string,
  resolution: Resolution,
  all: {
    readonly isSteppedBack: boolean;
    readonly found: readonly Bucket[];
    readonly expected: readonly Bucket[];
  },
): readonly string[] {
  // What was in an unreadable bucket is also missing from those that it would have been added to.
  const size = resolutionMs[resolution];
  const damaged = damagesOf(evidence, "bucket").filter((each) => each.target === target);
  const finer = resolutions.filter((each) => resolutionMs[each] <= size).map(String);
  const isWhole = ({ startMs }: Bucket): boolean =>
    !damaged.some(
      (each) =>
        finer.includes(each.resolution) && Math.floor(each.startMs / size) * size === startMs,
    );
  const [found, expected] = [all.found.filter(isWhole), all.expected.filter(isWhole)];
  const recordedMs = sum(found.map((bucket) => bucket.recordedMs));
  const passedMs = sum(expected.map((bucket) => bucket.recordedMs));
  const isUnclear = recordedMs === passedMs || (all.isSteppedBack && damaged.length > 0);
  const total = `${recordedMs} ms are recorded in ${resolution}, ${passedMs} ms passed`;
  // After the wall clock was set back, time is recorded in the bucket that is open.
  const lines = all.isSteppedBack
    ? []
    : differences(found.flatMap(bucketLines), expected.flatMap(bucketLines));
  return [
    ...(isUnclear ? [] : [total]),
    ...lines.map((line) => `buckets of ${resolution} ${line}`),
  ];
}

function bucketLines(bucket: Bucket): readonly string[] {
  const { startMs, recordedMs, unobservedMs, names } = bucket;
  if (recordedMs === 0 && names.size === 0) return [];
  const extentOf = ({ extent }: Pick<Bucket, "extent">): unknown =>
    extent && statuses.map((status) => [extent.least[status], extent.most[status]]);
  return [
    JSON.stringify([startMs, recordedMs, unobservedMs, extentOf(bucket)]),
    ...Array.from(names, ([name, account]) => {
      const { exhaustedMs, dwells } = account;
      const ms = statuses.map((status) => account.ms[status]);
      const parts = [account.unobservedMs, extentOf(account), exhaustedMs];
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

/**
 * The stored gaps are the time of the calendar in which nobody observed the target. After a wall clock was
 * set back, the calendar has some time twice: then no gap may be invented, and those before must be there.
 */
function gapFaults(stored: readonly Period[], polls: readonly PollRecord[]): readonly string[] {
  const steppedAt = steppedBackAt(polls);
  const possible = unobserved(polls);
  const sure = steppedAt < 0 ? possible : unobserved(polls.slice(0, steppedAt));
  const textsOf = (what: string, periods: readonly Period[]): readonly string[] =>
    periods
      .slice(0, mostViolations)
      .map(({ fromMs, toMs }) => `${what} from ${fromMs} to ${toMs} UTC`);
  const overlaps = stored.filter((each, at) => each.fromMs < (stored[at - 1]?.toMs ?? -Infinity));
  const missing = sure.flatMap((each) => without(each, stored));
  const invented = stored.flatMap((each) => without(each, possible));
  return [
    ...textsOf("overlap", overlaps),
    ...textsOf("lack the time", missing),
    ...textsOf("invent the time", invented),
  ];
}

function unobserved(polls: readonly PollRecord[]): readonly Period[] {
  const gaps = polls.flatMap(({ utcMs, elapsedMs, unbroken, complete }, at) => {
    const before = polls[at - 1];
    if (!before) return [];
    const isObserved = unbroken && complete && before.complete;
    const toMs = isObserved ? utcMs - elapsedMs : utcMs;
    const leastMs = isObserved ? slackMs : 0;
    return toMs > before.utcMs + leastMs ? [{ fromMs: before.utcMs, toMs }] : [];
  });
  return gaps.toSorted((one, other) => one.fromMs - other.fromMs);
}
