import { resolutionMs, resolutions, statuses } from "../history.ts";
import type {
  DamageEffect,
  History,
  KeptAccount,
  KeptBucket,
  KeptHistory,
  Resolution,
} from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import { sum, trueBuckets } from "./buckets.ts";
import type { TrueBucket } from "./buckets.ts";
import { pollRecordsOf } from "./poll-records.ts";
import { truthOf } from "./truth.ts";
import type { PollRecord, Truth } from "./truth.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** What is kept of a target is what its polls showed, to the millisecond. */
export function checkHistory(
  scenario: Scenario,
  history: History,
  { name }: ScenarioTarget,
): readonly Violation[] {
  const kept = history.kept.get(name);
  if (!kept) return [violation(`${name}: nothing is kept`, name)];
  const records = pollRecordsOf(history, name);
  const servers = new Set(records.flatMap(({ shown }) => [...shown.keys()]));
  const truth = truthOf(records, [...servers], scenario.goneAfter);
  const unreadable = unreadableOf(history, name);
  return [
    ...differences(
      `${name}: changes`,
      changeLines(kept),
      without(trueChangeLines(truth), unreadable.changes),
      name,
    ),
    ...resolutions.flatMap((resolution) =>
      checkBuckets(name, {
        resolution,
        isSteppedBack: isSteppedBack(records),
        lost: unreadable.buckets,
        found: kept.buckets.get(resolution) ?? [],
        expected: trueBuckets(truth, resolution),
      }),
    ),
  ];
}

type LostBucket = Extract<DamageEffect, { kind: "bucket" }>;

/** What is missing of a target, since its rows cannot be read. */
function unreadableOf({ damages }: History, target: string) {
  const effects = damages.map(({ effect }) => effect);
  return {
    changes: effects.flatMap((each) =>
      each.kind === "change" && each.target === target ? [each.line] : [],
    ),
    buckets: effects.filter(
      (each): each is LostBucket => each.kind === "bucket" && each.target === target,
    ),
  };
}

function checkBuckets(
  name: string,
  {
    resolution,
    isSteppedBack: isUncertain,
    lost,
    found: all,
    expected: allExpected,
  }: {
    readonly resolution: Resolution;
    readonly isSteppedBack: boolean;
    readonly lost: readonly LostBucket[];
    readonly found: readonly KeptBucket[];
    readonly expected: readonly TrueBucket[];
  },
): readonly Violation[] {
  // What was in a bucket that could not be read is missing from those that it would have become a part of.
  const size = resolutionMs[resolution];
  const isWhole = ({ startMs }: { readonly startMs: number }): boolean =>
    !lost.some(
      (each) =>
        resolutionMs[each.resolution] <= size && Math.floor(each.startMs / size) * size === startMs,
    );
  const [found, expected] = [all.filter(isWhole), allExpected.filter(isWhole)];
  const [recorded, passed] = [found, expected].map((each) =>
    sum(each.map(({ recordedMs }) => recordedMs)),
  );
  const text = `${name}: ${recorded} ms are recorded in ${resolution}, ${passed} ms passed`;
  const isUnclear = isUncertain && lost.length > 0;
  const total = recorded === passed || isUnclear ? [] : [violation(text, name)];
  if (isUncertain) return total;
  const [lines, trueLines] = [found.flatMap(bucketLines), expected.flatMap(trueBucketLines)];
  return [...total, ...differences(`${name}: buckets of ${resolution}`, lines, trueLines, name)];
}

/** Time that the calendar has twice is recorded in the bucket that is open. */
function isSteppedBack(records: readonly PollRecord[]): boolean {
  return records.some(
    ({ utcMs, elapsedMs }, at) => utcMs - elapsedMs < (records[at - 1]?.utcMs ?? -Infinity),
  );
}

function bucketLines(bucket: KeptBucket): readonly string[] {
  return linesOf(bucket, ({ dwells }) => [dwells.counts, dwells.sumMs]);
}

function trueBucketLines(bucket: TrueBucket): readonly string[] {
  return linesOf(bucket, ({ dwellsMs }) => [histogramOf(dwellsMs), sum(dwellsMs)]);
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How long a dwell time is at most that counts in each bucket of the histogram; there is one more for what is longer. */
const dwellBoundsMs = [
  10 * secondMs,
  30 * secondMs,
  minuteMs,
  2 * minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  12 * hourMs,
  dayMs,
  7 * dayMs,
];

function histogramOf(dwellsMs: readonly number[]): readonly number[] {
  const upTo = (boundMs: number): number => dwellsMs.filter((ms) => ms <= boundMs).length;
  const cumulative = [...dwellBoundsMs, Infinity].map(upTo);
  return cumulative.map((count, at) => count - (cumulative[at - 1] ?? 0));
}

function linesOf<Account extends Omit<KeptAccount, "dwells">>(
  bucket: Omit<KeptBucket, "names"> & { readonly names: ReadonlyMap<string, Account> },
  dwellsOf: (account: Account) => unknown,
): readonly string[] {
  const { startMs, recordedMs, unobservedMs, extent, names } = bucket;
  if (recordedMs === 0 && names.size === 0) return [];
  const extentLine = (each: KeptBucket["extent"]): unknown =>
    each && statuses.map((status) => [each.least[status], each.most[status]]);
  return [
    JSON.stringify([startMs, recordedMs, unobservedMs, extentLine(extent)]),
    ...Array.from(names, ([name, account]) => {
      const ms = statuses.map((status) => account.ms[status]);
      const { unobservedMs: unseenMs, exhaustedMs } = account;
      const parts = [ms, unseenMs, extentLine(account.extent), exhaustedMs, dwellsOf(account)];
      return JSON.stringify([startMs, name, ...parts]);
    }),
  ];
}

function changeLines({ changes }: KeptHistory): readonly string[] {
  return changes.map(({ atMs, sandboxId, serverId, from, to, dwellMs, observation }) =>
    JSON.stringify([atMs, `${sandboxId} ${serverId}`, from, to, dwellMs, observation]),
  );
}

function trueChangeLines({ changes, gaps }: Truth): readonly string[] {
  return [
    ...changes.map(({ atMs, server, from, to, dwellMs }) =>
      JSON.stringify([atMs, server, from, to, dwellMs, null]),
    ),
    ...gaps.map(({ atMs, server, status, kind }) =>
      JSON.stringify([atMs, server, status, status, null, kind]),
    ),
  ];
}

const mostToTell = 3;

function differences(
  what: string,
  found: readonly string[],
  expected: readonly string[],
  about: string,
): readonly Violation[] {
  const missing = without(expected, found);
  const invented = without(found, expected);
  return [
    ...missing.slice(0, mostToTell).map((line) => violation(`${what} lack ${line}`, about)),
    ...invented.slice(0, mostToTell).map((line) => violation(`${what} invent ${line}`, about)),
  ];
}

/** With repetitions. */
function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return some.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}
