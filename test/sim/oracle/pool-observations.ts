import type { ByStatus, StoredPoll } from "../history.ts";
import { byStatus, countOf } from "./buckets.ts";
import { distinct } from "./check-incidents.ts";
import { hasFault, settlingMs, writtenUntilMs, type Evidence } from "./evidence.ts";
import type { Observation } from "./observations.ts";
import type { TargetHistory, TargetPoll } from "./target-history.ts";

/** How many servers targets have, by name and status; null: not all of them are observed. */
type Counts = Readonly<Record<string, ByStatus<number>>> | null;

/** A poll of a target, or one that may have been lost, with what is known after it. */
export interface TargetEvent {
  readonly life: number;
  /** It came into force between these moments. */
  readonly earliest: number;
  readonly latest: number;
  /** Whether it happened. */
  readonly certain: boolean;
  readonly counts: Counts;
  /** Every name of a server that the process has known. */
  readonly names: ReadonlySet<string>;
  /** Null: it was lost. */
  readonly poll: TargetPoll | null;
}

/** A poll after which pools may be judged. */
export interface PoolObservation extends Observation {
  /** What all targets may show then. */
  readonly sums: readonly Counts[];
  /** The names that the polled target adds to. */
  readonly names: ReadonlySet<string>;
  /** Whether it may not have been judged, as the process was killed or its store failed right after the poll was stored. */
  readonly mayBeLost: boolean;
  /** Whether all pools were judged since all targets were observed: both where both are possible. */
  readonly judged: readonly boolean[];
}

/** What became known of a target, in order. */
export function targetEvents(
  evidence: Evidence,
  { polls, truth }: TargetHistory,
): readonly TargetEvent[] {
  let names: ReadonlySet<string> = new Set();
  return polls.flatMap((poll, at): readonly TargetEvent[] => {
    const { life, listing, stored, complete } = poll;
    if (life !== polls[at - 1]?.life) names = namesIn(truth.known(at - 1));
    const isUnsaved = (each: { readonly life: number; readonly moment: number }): boolean =>
      evidence.unsavedPolls.some(
        (taken) =>
          taken.target === stored.target && taken.life === each.life && taken.moment >= each.moment,
      );
    // What it changed nothing of was known until the process ended.
    const gone = poll.lost.filter((each) => !isUnsaved(each));
    const lost = gone.map((each) => {
      const latestMs = writtenUntilMs(evidence, each);
      const latest = evidence.dueMs.findLastIndex((ms) => ms <= latestMs);
      return { ...each, earliest: each.moment, latest, counts: null, names, poll: null };
    });
    if (listing) names = names.union(namesIn(listing.shown));
    const byName = Object.groupBy(truth.known(at).values(), ({ name }) => name);
    const counts = complete
      ? Object.fromEntries(
          Object.entries(byName).map(([name, some]) => [name, countOf(some ?? [])]),
        )
      : null;
    const { moment } = stored;
    const latest = evidence.dueMs.findLastIndex((ms) => ms <= writtenUntilMs(evidence, stored));
    const unjudged = { life, earliest: moment, latest, certain: false, counts: null, names };
    return [
      ...lost,
      { life, earliest: moment, latest: moment, certain: true, counts, names, poll },
      ...(mayBeUnjudged(evidence, stored) ? [{ ...unjudged, poll: null }] : []),
    ];
  });
}

/** Pools are judged, and what that means is stored, right after a poll was. */
function mayBeUnjudged(evidence: Evidence, stored: StoredPoll): boolean {
  const untilMs = writtenUntilMs(evidence, stored) + settlingMs;
  const { ended = null, endMs = null } = evidence.lives[stored.life - 1] ?? {};
  const isCutOff = ended !== null && endMs !== null && endMs <= untilMs;
  return isCutOff || hasFault(evidence, stored.life, stored.moment, untilMs);
}

function namesIn(servers: ReadonlyMap<string, { readonly name: string }>): ReadonlySet<string> {
  return new Set(servers.values().map(({ name }) => name));
}

/** The poll since which all targets are observed. */
interface Since {
  readonly life: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether they certainly are. */
  readonly isSure: boolean;
}

/** The polls after which pools over these targets may be judged, in the order in which they were stored. */
export function poolObservationsOf(
  evidence: Evidence,
  members: readonly (readonly TargetEvent[])[],
): readonly PoolObservation[] {
  const order = new Map(evidence.storedPolls.map((poll, at) => [poll, at]));
  const orderOf = ({ poll }: TargetEvent): number => (poll ? (order.get(poll.stored) ?? 0) : -1);
  const events = members
    .flat()
    .toSorted((one, other) => one.latest - other.latest || orderOf(one) - orderOf(other));
  const observations: PoolObservation[] = [];
  /** Null: they are not. */
  let latest = null as Since | null;
  let wasJudged: readonly boolean[] = [false];
  for (const event of events) {
    const { poll, life, earliest } = event;
    const since = latest?.life === life ? latest : null;
    if (since === null) wasJudged = [false];
    if (event.counts === null || poll === null) {
      latest = event.certain || since === null ? null : { ...since, isSure: false };
      wasJudged = event.certain ? [false] : both(wasJudged, [false]);
      continue;
    }
    const { moment, utcMs, atMs: fromMs, stored } = poll;
    const toMs = fromMs + (evidence.stalls.get(moment) ?? 0);
    const others = members.filter((each) => !each.includes(event));
    const sums = sumsOf(event, others, moment, earliest);
    const isSure = !sums.includes(null);
    if (sums.some((sum) => sum !== null)) {
      const isRaced = members.some((each) =>
        each.some(
          (other) =>
            other !== event &&
            other.life === life &&
            other.latest >= moment &&
            other.earliest <= stored.moment,
        ),
      );
      const mostMs = since === null ? 0 : Math.max(0, toMs - since.fromMs);
      const mayBeLost = mayBeUnjudged(evidence, stored);
      const leastMs =
        since?.isSure === true && isSure && !mayBeLost ? Math.max(0, fromMs - since.toMs) : 0;
      const judged = isRaced ? both(wasJudged, [false]) : wasJudged;
      const observation = { life, moment, utcMs, fromMs, toMs, leastMs, mostMs, mayBeLost };
      observations.push({ ...observation, sums, names: event.names, judged });
      wasJudged = isSure && !isRaced && !mayBeLost ? [true] : both(wasJudged, [true]);
    }
    const after = sumsOf(event, others, earliest, earliest);
    latest = after.every((sum) => sum === null)
      ? null
      : {
          life,
          fromMs: Math.max(since?.fromMs ?? 0, fromMs),
          toMs: Math.max(since?.toMs ?? 0, toMs),
          isSure: !after.includes(null),
        };
  }
  return observations;
}

function both(some: readonly boolean[], others: readonly boolean[]): readonly boolean[] {
  return [...new Set([...some, ...others])];
}

/** What all targets can show together between two moments. */
function sumsOf(
  own: TargetEvent,
  others: readonly (readonly TargetEvent[])[],
  fromMoment: number,
  toMoment: number,
): readonly Counts[] {
  let sums: readonly Counts[] = [own.counts];
  for (const events of others) {
    let possible: readonly Counts[] = [null];
    for (const { life, earliest, latest, certain, counts } of events) {
      if (life !== own.life || earliest > toMoment) continue;
      possible = certain && latest < fromMoment ? [counts] : [...possible, counts];
    }
    sums = sums.flatMap((sum) => possible.map((counts) => sum && counts && add(sum, counts)));
  }
  return distinct(sums);
}

function add(one: NonNullable<Counts>, other: NonNullable<Counts>): Counts {
  const sum = { ...one };
  for (const [name, counts] of Object.entries(other)) {
    const before = sum[name];
    sum[name] = before ? byStatus((status) => before[status] + counts[status]) : counts;
  }
  return sum;
}
