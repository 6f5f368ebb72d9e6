import type { ByStatus, History } from "../history.ts";
import type { Seen } from "./seen.ts";
import { byStatus, sightsBetween } from "./target-events.ts";
import type { TargetEvent, TargetSight } from "./target-events.ts";

/** A poll after which pools may be judged. */
export interface PoolSight {
  readonly seen: Seen;
  readonly life: number;
  /** What can be, each with what all targets show then; null: one of them does not show all of it. */
  readonly sums: readonly (ReadonlyMap<string, ByStatus<number>> | null)[];
  /** The names that the polled target adds to. */
  readonly names: ReadonlySet<string>;
  /** Whether all pools were judged since all targets were observed: both where both can be. */
  readonly judged: readonly boolean[];
}

/** The polls after which pools over these targets may be judged, in the order in which they were kept. */
export function poolSightsOf(
  history: History,
  members: readonly (readonly TargetEvent[])[],
): readonly PoolSight[] {
  const order = new Map(history.keptPolls.map((poll, at) => [poll, at]));
  const events = members
    .flat()
    .toSorted(
      (one, other) =>
        one.latest - other.latest ||
        (one.poll ? (order.get(one.poll.kept) ?? 0) : -1) -
          (other.poll ? (order.get(other.poll.kept) ?? 0) : -1),
    );
  const sights: PoolSight[] = [];
  /** Since when all targets can have been observed; null: they are not. */
  let latest: Since | null = null;
  let wasJudged: readonly boolean[] = [false];
  for (const event of events) {
    const { poll, life, after, earliest } = event;
    const since = sinceIn(latest, life);
    if (since === null) wasJudged = [false];
    if (!after.whole || poll === null || poll.sighting === null) {
      latest = event.certain || since === null ? null : { ...since, isSure: false };
      wasJudged = event.certain ? [false] : both(wasJudged, [false]);
      continue;
    }
    const others = members.filter((each) => !each.includes(event));
    const sums = sumsOf(others, life, { from: poll.moment, to: earliest }, after);
    const isSure = !sums.includes(null);
    const isPossible = sums.some((sum) => sum !== null);
    const fromMs = poll.atMs;
    const toMs = poll.atMs + (history.stalls.get(poll.moment) ?? 0);
    if (isPossible) {
      const isRaced = members.some((each) =>
        each.some(
          (other) =>
            other !== event &&
            other.life === life &&
            other.latest >= poll.moment &&
            other.earliest <= earliest,
        ),
      );
      const mostMs = since === null ? 0 : Math.max(0, toMs - since.fromMs);
      const leastMs = since?.isSure === true && isSure ? Math.max(0, fromMs - since.toMs) : 0;
      const { sighting } = poll;
      const seen = { sighting, certain: true, fromMs, toMs, leastMs, mostMs };
      const judged = isRaced ? both(wasJudged, [false]) : wasJudged;
      sights.push({ seen, life, sums, names: after.names, judged });
      wasJudged = isSure && !isRaced ? [true] : both(wasJudged, [true]);
    }
    const then = sumsOf(others, life, { from: earliest, to: earliest }, after);
    if (then.every((sum) => sum === null)) latest = null;
    else {
      latest = {
        life,
        fromMs: Math.max(since?.fromMs ?? 0, fromMs),
        toMs: Math.max(since?.toMs ?? 0, toMs),
        isSure: !then.includes(null),
      };
    }
  }
  return sights;
}

/** The poll since which all targets are observed. */
interface Since {
  readonly life: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether they certainly are. */
  readonly isSure: boolean;
}

function sinceIn(latest: Since | null, life: number): Since | null {
  return latest?.life === life ? latest : null;
}

function both(some: readonly boolean[], others: readonly boolean[]): readonly boolean[] {
  return [...new Set([...some, ...others])];
}

/** What all targets can show together between two moments; null where one of them does not show all of it. */
function sumsOf(
  others: readonly (readonly TargetEvent[])[],
  life: number,
  { from, to }: { readonly from: number; readonly to: number },
  own: TargetSight,
): readonly (ReadonlyMap<string, ByStatus<number>> | null)[] {
  let sums: readonly (ReadonlyMap<string, ByStatus<number>> | null)[] = [own.counts];
  for (const events of others) {
    const sights = sightsBetween(events, life, from, to);
    sums = sums.flatMap((sum) =>
      sights.map(({ whole, counts }) => (sum === null || !whole ? null : add(sum, counts))),
    );
  }
  return distinctSums(sums);
}

function distinctSums(
  sums: readonly (ReadonlyMap<string, ByStatus<number>> | null)[],
): readonly (ReadonlyMap<string, ByStatus<number>> | null)[] {
  return [...new Map(sums.map((sum) => [JSON.stringify(sum && [...sum]), sum])).values()];
}

function add(
  one: ReadonlyMap<string, ByStatus<number>>,
  other: ReadonlyMap<string, ByStatus<number>>,
): ReadonlyMap<string, ByStatus<number>> {
  const sum = new Map(one);
  for (const [name, counts] of other) {
    const before = sum.get(name);
    sum.set(name, before ? byStatus((status) => before[status] + counts[status]) : counts);
  }
  return sum;
}
