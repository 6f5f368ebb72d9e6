import type { History, KeptPoll, ServiceRequest, Sighting } from "../history.ts";
import { forgottenBetween } from "./damages.ts";
import type { PollRecord } from "./truth.ts";

/** A poll that was kept, and what is known of its end. */
export interface KeptEnd {
  readonly life: number;
  /** When its last answer came, or when it was kept if it sent nothing. */
  readonly moment: number;
  readonly atMs: number;
  readonly utcMs: number;
  /** Null: it failed. */
  readonly sighting: Sighting | null;
  readonly kept: KeptPoll;
  /** Polls before it that came to nothing. */
  readonly lost: readonly LostPoll[];
}

/** A poll that ended and was not kept. */
export interface LostPoll {
  readonly life: number;
  readonly moment: number;
  readonly atMs: number;
  /** False: it may not have been one, but a request that was repeated in the same poll. */
  readonly certain: boolean;
}

/** The polls of a target that were kept, in order. */
export function keptEndsOf(history: History, target: string): readonly KeptEnd[] {
  const sightings = new Map(history.sightings.map((each) => [each.request, each]));
  const ended = history.requests.flatMap((request, index) =>
    request.target === target && request.path === "/local-sandbox" && request.exchange.end !== null
      ? [{ request, end: request.exchange.end, sighting: sightings.get(index) ?? null }]
      : [],
  );
  ended.sort((one, other) => one.end.moment - other.end.moment);
  let next = 0;
  return history.keptPolls
    .filter((each) => each.target === target)
    .map((kept) => {
      const since = ended.slice(next).filter(({ end }) => end.moment <= kept.moment);
      next += since.length;
      const last = since.filter(({ request }) => request.life === kept.life).at(-1);
      // One that ended long before was not kept, and then a poll was that sent nothing.
      const own = last && isWrittenSoon(history, last.end, kept) ? last : undefined;
      const lost = since
        .filter((each) => each !== own)
        .filter(({ request, sighting }) => wasLost(history, request, sighting))
        .map(({ request: { life }, end: { moment, atMs }, sighting }) => {
          return { life, moment, atMs, certain: sighting !== null };
        });
      const { life } = kept;
      if (!own) return { ...kept, sighting: null, kept, lost };
      const { moment, atMs, utcMs } = own.end;
      return { life, moment, atMs, utcMs, sighting: own.sighting, kept, lost };
    });
}

/** The polls of a target that were kept, with what the answers to them say. */
export function pollRecordsOf(history: History, target: string): readonly PollRecord[] {
  const ends = keptEndsOf(history, target);
  return ends.map((end, at) => {
    const last = ends[at - 1] ?? null;
    const forgotten = forgottenBetween(history, target, last?.life ?? 0, end.life);
    return { ...recordOf(last, end), forgotten };
  });
}

function recordOf(last: KeptEnd | null, poll: KeptEnd): Omit<PollRecord, "forgotten"> {
  const isBroken = last?.life !== poll.life || poll.lost.length > 0;
  const inUtcMs = last === null ? 0 : Math.max(0, poll.utcMs - last.utcMs);
  return {
    utcMs: poll.utcMs,
    elapsedMs: isBroken ? inUtcMs : poll.atMs - last.atMs,
    unbroken: !isBroken,
    accepted: poll.sighting !== null,
    complete: poll.sighting?.complete ?? false,
    shown: poll.sighting?.shown ?? new Map(),
  };
}

/** How long what a poll decided may wait until it is written together with others. */
const gatherMs = 100;

function isWrittenSoon(
  { stalls }: History,
  { moment, atMs }: { readonly moment: number; readonly atMs: number },
  kept: KeptPoll,
): boolean {
  let stalledMs = 0;
  for (const [at, ms] of stalls) if (at >= moment && at <= kept.moment) stalledMs += ms;
  return kept.atMs - stalledMs <= atMs + 2 * gatherMs;
}

/** Whether an answer that was not kept ended a poll: else it was asked for once more in the same one. */
function wasLost(
  { storeFaults, stalls, dueMs }: History,
  { life, exchange }: ServiceRequest,
  sighting: Sighting | null,
): boolean {
  if (sighting) return true;
  const { end } = exchange;
  if (!end) return false;
  const latestMs = end.atMs + (stalls.get(end.moment) ?? 0) + gatherMs;
  return Array.from(storeFaults).some(
    ([moment, hit]) =>
      hit === life && moment >= end.moment && (dueMs[moment] ?? Infinity) <= latestMs,
  );
}
