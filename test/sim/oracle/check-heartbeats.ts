import type { History, Ping } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { stalledMs } from "./check-lives.ts";
import { longestTurnMs } from "./due-polls.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** By then what waited for receivers has been delivered: once each target was polled, too, nothing withholds a ping. */
const recoveryMs = 30 * 60_000;

/** Longer than anything takes that is done once a poll has ended. */
const settlingMs = 300;

/** That pings come while all is well, and not while a process has not polled or its store takes nothing. */
export function checkHeartbeats(scenario: Scenario, history: History): readonly Violation[] {
  const { heartbeat, calmMs, endMs, targets, timeoutMs } = scenario;
  if (heartbeat === null) return [];
  const { everyMs } = heartbeat;
  const found: Violation[] = [];
  // The last process can start later.
  let lastMs = Math.max(
    calmMs + Math.max(recoveryMs, 2 * longestTurnMs(scenario)),
    history.lives.at(-1)?.watchMs ?? 0,
  );
  for (const atMs of [...history.pings.map((ping) => ping.atMs), endMs]) {
    if (atMs < lastMs) continue;
    if (atMs - lastMs > 2 * everyMs + 15_000) {
      found.push(violation(`no heartbeat came from ${lastMs} to ${atMs} ms, though all was well`));
      break;
    }
    lastMs = atMs;
  }
  for (const ping of history.pings) {
    const reasons = [
      ...targets.flatMap(({ name }) => ailmentOf(history, ping, name) ?? []),
      ...outagesAt(history, ping, 2.5 * longestTurnMs(scenario) + timeoutMs),
    ];
    if (reasons.length === 0) continue;
    found.push(violation(`a heartbeat at ${ping.sentMs} ms, though ${reasons.join(", ")}`));
    break;
  }
  return found;
}

/** A disk that is read-only answers what is read: that nothing is stored shows once each target had a poll. */
function outagesAt(
  { storeOutages, lives }: History,
  { life, sentMs }: Ping,
  roundMs: number,
): readonly string[] {
  return storeOutages
    .filter((each) => each.life === null || each.life === life)
    .filter(({ fromMs, toMs, what }) => {
      const sinceMs = Math.max(fromMs, lives[life - 1]?.startMs ?? 0);
      return sentMs > sinceMs + (what === "is read-only" ? roundMs : 0) && sentMs < toMs;
    })
    .map(({ what }) => `the store ${what}`);
}

/** Why a process cannot say that it watches a target; null: it can, for all that is certain. */
function ailmentOf(history: History, { life, sentMs }: Ping, target: string): string | null {
  const polls = Array.from(history.requests.entries()).flatMap(([index, request]) => {
    const { end } = request.exchange;
    const isOwn = request.life === life && request.target === target;
    return isOwn && request.path === "/local-sandbox" && end !== null && end.atMs <= sentMs
      ? [{ index, end }]
      : [];
  });
  if (polls.length === 0) {
    // A poll can end without a request, where an answer to a probe asked for patience.
    const isKept = history.keptPolls.some(
      (poll) => poll.life === life && poll.target === target && poll.atMs <= sentMs,
    );
    return isKept ? null : `${target} was not polled`;
  }
  const listings = new Set(history.sightings.map(({ request }) => request));
  const settled = polls.filter(({ end }) => {
    const stalls = stalledMs(history, end.atMs, sentMs);
    return end.atMs + settlingMs + stalls <= sentMs;
  });
  const last = settled.toSorted((one, other) => one.end.moment - other.end.moment).at(-1);
  if (!last || !listings.has(last.index)) return null;
  const isStored = history.keptPolls.some(
    (poll) =>
      poll.life === life &&
      poll.target === target &&
      poll.moment >= last.end.moment &&
      poll.atMs <= sentMs,
  );
  return isStored ? null : `the last poll of ${target} was not stored`;
}
