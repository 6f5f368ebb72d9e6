import { listingPath } from "../scenario.ts";
import { hasFault, violation, writtenUntilMs } from "./evidence.ts";
import type { Evidence, Listing, Violation } from "./evidence.ts";
import { longestPollDistanceMs } from "./due-polls.ts";
import { noTime, type Span } from "./span.ts";

/** What a rule judges. The span is the observed time since the observation before. */
export interface Observation extends Span {
  readonly life: number;
  readonly moment: number;
  readonly utcMs: number;
  /** It was made between these two: the process may have been held up. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface TargetObservation extends Observation {
  readonly listing: Listing;
  /** False: it may be lost, as the process died or its store failed before it was surely stored. */
  readonly certain: boolean;
}

/** The listings of a target that may have been stored, in order. */
export function observationsOf(evidence: Evidence, target: string): readonly TargetObservation[] {
  const listings = evidence.listings.filter((each) => each.target === target);
  const answered = new Set(listings.map(({ request }) => request));
  const failed = evidence.requests.flatMap((request, index) =>
    request.target === target && request.path === listingPath && !answered.has(index)
      ? [index]
      : [],
  );
  const longestMs = 2.5 * longestPollDistanceMs(evidence.scenario) + 60_000;
  const observations: TargetObservation[] = [];
  let lostIn: number | null = null;
  for (const listing of listings) {
    const { life, moment, utcMs, atMs: fromMs, request } = listing;
    if (isLost(evidence, listing)) {
      lostIn = life;
      continue;
    }
    const before = observations.at(-1);
    const isFirst = life !== before?.life || life === lostIn;
    lostIn = null;
    const toMs = fromMs + (evidence.stalls.get(moment) ?? 0);
    const certain = isCertain(evidence, listing);
    const known = { listing, life, moment, utcMs, certain, fromMs, toMs };
    if (!before || isFirst || storedBetween(evidence, before, listing) > 1) {
      observations.push({ ...known, ...noTime });
      continue;
    }
    const isFailed = failed.some((each) => each > before.listing.request && each < request);
    const isSure = !isFailed && certain && before.certain;
    const mostMs = toMs - before.fromMs;
    observations.push({
      ...known,
      leastMs: isSure ? Math.max(0, fromMs - before.toMs) : 0,
      // In so long a time a poll failed, and the time around it is unobserved.
      mostMs: mostMs > longestMs ? 0 : mostMs,
    });
  }
  return observations;
}

/** How many polls were stored from an observation until a listing: with a poll that sent nothing, more than one. */
function storedBetween({ storedPolls }: Evidence, { moment }: Observation, until: Listing): number {
  return storedPolls.filter(
    (poll) => poll.target === until.target && poll.moment >= moment && poll.moment < until.moment,
  ).length;
}

/** Whether a listing may have been stored in a moment. */
function mayStore(evidence: Evidence, listing: Listing, moment: number): boolean {
  const dueMs = evidence.dueMs[moment] ?? Infinity;
  return moment >= listing.moment && dueMs <= writtenUntilMs(evidence, listing);
}

function isLost(evidence: Evidence, listing: Listing): boolean {
  const isUnsaved = evidence.unsavedPolls.some(
    ({ target, life, moment }) =>
      target === listing.target && life === listing.life && mayStore(evidence, listing, moment),
  );
  return (
    isUnsaved ||
    (!isCertain(evidence, listing) &&
      !evidence.commits.values().some((moment) => mayStore(evidence, listing, moment)))
  );
}

function isCertain(evidence: Evidence, listing: Listing): boolean {
  const { life, moment } = listing;
  const { endMoment = null } = evidence.lives[life - 1] ?? {};
  if (endMoment !== null && mayStore(evidence, listing, endMoment)) return false;
  return !hasFault(evidence, life, moment, writtenUntilMs(evidence, listing));
}

/** Whether a timestamp of the product's can be of the moment of an observation. */
export function isAt({ utcMs, fromMs, toMs }: Observation, timestampMs: number): boolean {
  return timestampMs >= utcMs && timestampMs <= utcMs + (toMs - fromMs);
}

/** Each listing is stored unless something prevents it: after a failure the next poll is stored. */
export function checkStored(
  evidence: Evidence,
  target: string,
  observations: readonly TargetObservation[],
): readonly Violation[] {
  const lost = observations.find(({ listing, certain }) => {
    const { lastPollMs = null } = evidence.lives[listing.life - 1] ?? {};
    const isStopped = lastPollMs !== null && lastPollMs <= listing.atMs;
    const isStored = evidence.storedPolls.some(
      (poll) =>
        poll.target === target &&
        poll.life === listing.life &&
        mayStore(evidence, listing, poll.moment),
    );
    return certain && !isStopped && !isStored;
  });
  if (!lost) return [];
  const text = `the listing of ${target} at ${lost.fromMs} ms was not stored, though nothing prevented it`;
  return [violation(text, target)];
}
