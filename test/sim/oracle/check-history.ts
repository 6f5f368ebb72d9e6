import { quantiles, resolutions, statuses } from "../history.ts";
import type { History, KeptAccount, KeptBucket, KeptHistory, Resolution } from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import { sum, trueBuckets } from "./buckets.ts";
import type { TrueAccount, TrueBucket } from "./buckets.ts";
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
  return [
    ...differences(`${name}: changes`, changeLines(kept), trueChangeLines(truth), name),
    ...resolutions.flatMap((resolution) =>
      checkBuckets(name, {
        resolution,
        isSteppedBack: isSteppedBack(records),
        found: kept.buckets.get(resolution) ?? [],
        expected: trueBuckets(truth, resolution),
      }),
    ),
  ];
}

function checkBuckets(
  name: string,
  {
    resolution,
    isSteppedBack: isUncertain,
    found,
    expected,
  }: {
    readonly resolution: Resolution;
    readonly isSteppedBack: boolean;
    readonly found: readonly KeptBucket[];
    readonly expected: readonly TrueBucket[];
  },
): readonly Violation[] {
  const [booked, passed] = [found, expected].map((each) =>
    sum(each.map(({ bookedMs }) => bookedMs)),
  );
  const text = `${name}: ${booked} ms are booked in ${resolution}, ${passed} ms passed`;
  const total = booked === passed ? [] : [violation(text, name)];
  if (isUncertain) return total;
  const [lines, trueLines] = [found.flatMap(bucketLines), expected.flatMap(trueBucketLines)];
  return [
    ...total,
    ...differences(`${name}: buckets of ${resolution}`, lines, trueLines, name),
    ...checkQuantiles(`${name}: buckets of ${resolution}`, found, expected, name),
  ];
}

/** Time that the calendar has twice is booked where it is open. */
function isSteppedBack(records: readonly PollRecord[]): boolean {
  return records.some(
    ({ utcMs, elapsedMs }, at) => utcMs - elapsedMs < (records[at - 1]?.utcMs ?? -Infinity),
  );
}

function bucketLines(bucket: KeptBucket): readonly string[] {
  const staysOf = ({ stays }: KeptAccount): unknown =>
    statuses.map((status) => [stays[status].count, stays[status].sumMs]);
  return linesOf(bucket, staysOf);
}

function trueBucketLines(bucket: TrueBucket): readonly string[] {
  const staysOf = ({ stays }: TrueAccount): unknown =>
    statuses.map((status) => [stays[status].length, sum(stays[status])]);
  return linesOf(bucket, staysOf);
}

function linesOf<Account extends Omit<KeptAccount, "stays">>(
  bucket: Omit<KeptBucket, "names"> & { readonly names: ReadonlyMap<string, Account> },
  staysOf: (account: Account) => unknown,
): readonly string[] {
  const { startMs, bookedMs, unobservedMs, extent, names } = bucket;
  if (bookedMs === 0 && names.size === 0) return [];
  const extentLine = (each: KeptBucket["extent"]): unknown =>
    each && statuses.map((status) => [each.least[status], each.most[status]]);
  return [
    JSON.stringify([startMs, bookedMs, unobservedMs, extentLine(extent)]),
    ...Array.from(names, ([name, account]) => {
      const ms = statuses.map((status) => account.ms[status]);
      const { unobservedMs: unseenMs, exhaustedMs } = account;
      const parts = [ms, unseenMs, extentLine(account.extent), exhaustedMs, staysOf(account)];
      return JSON.stringify([startMs, name, ...parts]);
    }),
  ];
}

/** Quantiles of stays are known to within so much of them. */
const relativeError = 0.02;

function checkQuantiles(
  what: string,
  found: readonly KeptBucket[],
  expected: readonly TrueBucket[],
  about: string,
): readonly Violation[] {
  const trueAt = new Map(expected.map((bucket) => [bucket.startMs, bucket]));
  for (const { startMs, names } of found) {
    for (const [name, { stays }] of names) {
      const account = trueAt.get(startMs)?.names.get(name);
      for (const status of statuses) {
        const lengths = account?.stays[status] ?? [];
        if (lengths.length === 0 || lengths.length !== stays[status].count) continue;
        for (const [at, quantile] of quantiles.entries()) {
          const rank = quantile * (lengths.length - 1);
          const few = Math.max(1, lengths[Math.floor(rank)] ?? 0);
          const many = Math.max(1, lengths[Math.ceil(rank)] ?? 0);
          const value = stays[status].quantilesMs[at] ?? Number.NaN;
          if (value >= few * (1 - relativeError) - 1 && value <= many * (1 + relativeError) + 1)
            continue;
          const text = `${what} have ${value} ms for the ${quantile} quantile of ${status} stays of ${name}`;
          return [violation(`${text}, which is ${few} to ${many} ms`, about)];
        }
      }
    }
  }
  return [];
}

function changeLines({ changes }: KeptHistory): readonly string[] {
  return changes.map(({ atMs, sandboxId, serverId, from, to, stayMs, lapse }) =>
    JSON.stringify([atMs, `${sandboxId} ${serverId}`, from, to, stayMs, lapse]),
  );
}

function trueChangeLines({ changes, lapses }: Truth): readonly string[] {
  return [
    ...changes.map(({ atMs, server, from, to, stayMs }) =>
      JSON.stringify([atMs, server, from, to, stayMs, null]),
    ),
    ...lapses.map(({ atMs, server, status, kind }) =>
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
