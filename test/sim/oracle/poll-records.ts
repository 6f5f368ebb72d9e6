import type { History, ServiceRequest, Sighting } from "../history.ts";
import type { PollRecord } from "./truth.ts";

/** A poll of which something is known, kept or not. */
interface EndedPoll {
  readonly life: number;
  readonly atMs: number;
  readonly utcMs: number;
  readonly sighting: Sighting | null;
}

/** The polls of a target that were kept, with what the answers to them say. */
export function pollRecordsOf(history: History, target: string): readonly PollRecord[] {
  const sightings = new Map(history.sightings.map((each) => [each.request, each]));
  const ended = history.requests.flatMap((request, index) =>
    request.target === target && request.path === "/local-sandbox" && request.exchange.end !== null
      ? [{ request, end: request.exchange.end, sighting: sightings.get(index) ?? null }]
      : [],
  );
  ended.sort((one, other) => one.end.moment - other.end.moment);
  const records: PollRecord[] = [];
  let last: EndedPoll | null = null;
  let next = 0;
  for (const kept of history.keptPolls.filter((each) => each.target === target)) {
    const since = ended.slice(next).filter(({ end }) => end.moment <= kept.moment);
    next += since.length;
    const own = since.filter(({ request }) => request.life === kept.life).at(-1);
    const poll: EndedPoll = own
      ? { life: kept.life, ...own.end, sighting: own.sighting }
      : { ...kept, sighting: null };
    const others = since.filter((each) => each !== own);
    const isBroken =
      last?.life !== poll.life ||
      others.some((each) => wasLost(history, each.request, each.sighting));
    records.push(recordOf(last, poll, isBroken));
    last = poll;
  }
  return records;
}

function recordOf(last: EndedPoll | null, poll: EndedPoll, isBroken: boolean): PollRecord {
  const inUtcMs = last === null ? 0 : Math.max(0, poll.utcMs - last.utcMs);
  return {
    utcMs: poll.utcMs,
    elapsedMs: isBroken || last === null ? inUtcMs : poll.atMs - last.atMs,
    unbroken: !isBroken,
    accepted: poll.sighting !== null,
    complete: poll.sighting?.complete ?? false,
    shown: poll.sighting?.shown ?? new Map(),
  };
}

/** How long what a poll decided may wait until it is written together with others. */
const gatherMs = 100;

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
