import { listingPath } from "../scenario.ts";
import type { Moment, ServiceRequest, StoredPoll } from "../history.ts";
import { hasFault, writtenUntilMs, type Evidence, type Listing } from "./evidence.ts";
import { truthOf, type PollRecord, type Truth } from "./truth.ts";

/** What is known of a target: its stored polls, in order, and what follows from them. */
export interface TargetHistory {
  readonly polls: readonly TargetPoll[];
  /** Of its servers. */
  readonly truth: Truth;
  /** Of its sandboxes. */
  readonly boxes: Truth;
}

/** When its last answer came, or when it was stored if it sent nothing. */
export interface TargetPoll extends Moment, PollRecord {
  readonly life: number;
  readonly stored: StoredPoll;
  /** Its last request; null: it is unknown which, or there was none. */
  readonly request: ServiceRequest | null;
  /** Null: it failed. */
  readonly listing: Listing | null;
  /** The polls before it that were not stored. */
  readonly lost: readonly LostPoll[];
}

interface LostPoll extends Moment {
  readonly life: number;
  /** False: it may have been a request that was retried in the same poll. */
  readonly certain: boolean;
}

export function targetHistoryOf(evidence: Evidence, target: string): TargetHistory {
  const polls: TargetPoll[] = [];
  for (const poll of storedPollsOf(evidence, target)) {
    const { listing, life, utcMs } = poll;
    const last = polls.at(-1);
    const isBroken =
      last?.life !== life || poll.lost.length > 0 || isSilentLost(evidence, last, poll);
    const inUtcMs = last ? Math.max(0, utcMs - last.utcMs) : 0;
    polls.push({
      ...poll,
      elapsedMs: isBroken ? inUtcMs : poll.atMs - last.atMs,
      unbroken: !isBroken,
      accepted: listing !== null,
      complete: listing?.complete ?? false,
      shown: listing?.shown ?? new Map(),
    });
  }
  const { goneAfter } = evidence.scenario;
  const ofBoxes = polls.map((poll) => ({ ...poll, shown: poll.listing?.boxes ?? new Map() }));
  return { polls, truth: truthOf(polls, goneAfter), boxes: truthOf(ofBoxes, goneAfter) };
}

export function storedPollsOf(evidence: Evidence, target: string) {
  const listings = new Map(evidence.listings.map((each) => [each.request, each]));
  const answers = evidence.requests.flatMap((request, index) =>
    request.target === target && request.path === listingPath && request.exchange.end !== null
      ? [
          {
            ...request.exchange.end,
            life: request.life,
            request,
            listing: listings.get(index) ?? null,
          },
        ]
      : [],
  );
  answers.sort((one, other) => one.moment - other.moment);
  let next = 0;
  return evidence.storedPolls
    .filter((stored) => stored.target === target)
    .map((stored) => {
      const since = answers.slice(next).filter(({ moment }) => moment <= stored.moment);
      next += since.length;
      const last = since.findLast(({ life }) => life === stored.life);
      // One that ended long before was not stored: this is a poll that sent nothing.
      const own = last && isWrittenSoon(evidence, last, stored) ? last : null;
      const lost = since
        .filter((each) => each !== own && (each.listing !== null || mayBeLost(evidence, each)))
        .map((each) => ({ ...each, certain: each.listing !== null }));
      const { moment, atMs, utcMs } = own ?? stored;
      const { life } = stored;
      const { request = null, listing = null } = own ?? {};
      return { life, moment, atMs, utcMs, request, listing, stored, lost };
    });
}

/**
 * Whether a poll that sent nothing was lost between two stored ones, which are further apart than two polls in a row.
 * A cron expression may pause.
 */
function isSilentLost(
  evidence: Evidence,
  last: TargetPoll,
  { atMs, request }: Pick<TargetPoll, "atMs" | "request">,
): boolean {
  const { intervalMs, schedule } = evidence.scenario;
  // Polls in a row are asked for one interval apart, though their answers may be further apart.
  const apartMs = (request?.exchange.sentMs ?? atMs) - (last.request?.exchange.sentMs ?? last.atMs);
  const isFar = apartMs > 1.95 * intervalMs || atMs - last.atMs > 2 * intervalMs + longestWriteMs;
  return schedule === null && isFar && hasFault(evidence, last.life, last.moment, atMs);
}

function isWrittenSoon({ stalls }: Evidence, { moment, atMs }: Moment, stored: StoredPoll) {
  let stalledMs = 0;
  for (const [at, ms] of stalls) if (at >= moment && at <= stored.moment) stalledMs += ms;
  return stored.atMs - stalledMs <= atMs + longestWriteMs;
}

/** Polls wait to be committed together. */
const longestWriteMs = 200;

/** Whether an answer that was not stored may have ended a poll: else its request was retried in the same poll. */
function mayBeLost(evidence: Evidence, answer: Moment & { readonly life: number }): boolean {
  return hasFault(evidence, answer.life, answer.moment, writtenUntilMs(evidence, answer));
}
