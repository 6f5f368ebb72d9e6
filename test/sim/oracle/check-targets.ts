import type { TargetRule } from "../draw/rules.ts";
import { listingPath } from "../scenario.ts";
import { requestsFor, timesOf, violation } from "./evidence.ts";
import type { Evidence, NotifiedIncident, Violation } from "./evidence.ts";
import { longestPollDistanceMs, pollsWithin } from "./due-polls.ts";
import { isRefusal, retryAfterMs } from "./read-answer.ts";
import { notifiesEnd } from "./routes.ts";
import { isAt, type TargetObservation } from "./observations.ts";
import type { Period } from "../history.ts";

/** A target with a rule on it. */
interface Subject {
  readonly target: string;
  readonly rule: TargetRule;
  readonly observations: readonly TargetObservation[];
}

/** An incident of a target fires when it is due, ends when the target is up again, and is not invented. */
export function checkTarget(
  evidence: Evidence,
  subject: Subject,
  notified: readonly NotifiedIncident[],
): readonly Violation[] {
  const { target, rule, observations } = subject;
  const name = `${rule.name} ${target}`;
  const found: Violation[] = [];
  const placed = notified.flatMap((incident): readonly Period[] => {
    const { id, startedUtcMs, notifiedMs } = incident;
    const tries = timesOf(evidence, startedUtcMs)
      .filter((ms) => ms <= notifiedMs && mayHaveFired(evidence, subject, ms))
      .map((startMs) => place(evidence, subject, incident, startMs));
    // A wall clock that is set back shows some times twice.
    const possible = tries.filter(({ fault }) => fault === null);
    if (possible.length > 0) return possible;
    const fault = tries.at(-1)?.fault ?? "fired though the target was not down for so long";
    found.push(violation(`${name}: ${id} ${fault}`, id, target));
    return tries;
  });
  // From each observation to the next.
  for (const [at, observation] of [...observations, null].entries()) {
    const fromMs = observations[at - 1]?.toMs ?? 0;
    const toMs = observation?.fromMs ?? evidence.endMs;
    const isDue = reaches(rule, countFailed(evidence, target, { fromMs, toMs }).least);
    if (!isDue || placed.some((each) => each.fromMs <= toMs && each.toMs >= toMs)) continue;
    const text = `${name}: nobody was notified that it was down from ${fromMs} to ${toMs} ms`;
    found.push(violation(text, target));
  }
  return found;
}

/** When an incident lasted, if it began at a time. */
function place(
  evidence: Evidence,
  { rule, observations }: Subject,
  { id, resolved }: NotifiedIncident,
  fromMs: number,
): Period & { readonly fault: string | null } {
  const first = observations.find((each) => each.certain && each.fromMs > fromMs);
  const latestMs = first?.fromMs ?? Infinity;
  const wentOn = "went on after the target was up";
  if (!notifiesEnd(evidence, rule, id)) return { fromMs, toMs: latestMs, fault: null };
  if (!resolved) return { fromMs, toMs: Infinity, fault: first ? wentOn : null };
  const end = observations.find((each) => each.toMs > fromMs && isAt(each, resolved.utcMs));
  if (!end) return { fromMs, toMs: latestMs, fault: "was resolved when it was not up" };
  return { fromMs, toMs: end.fromMs, fault: end.fromMs > latestMs ? wentOn : null };
}

function mayHaveFired(
  evidence: Evidence,
  { target, rule, observations }: Subject,
  startMs: number,
): boolean {
  const before = observations.findLast(({ certain, toMs }) => certain && toMs <= startMs);
  const after = observations.find(({ certain, fromMs }) => certain && fromMs > startMs);
  const answered = new Set(observations.map(({ listing }) => listing.request));
  const isFailed = evidence.requests.some((request, index) => {
    const waitMs = retryAfterMs(request);
    return (
      request.target === target &&
      request.atMs <= startMs &&
      // A poll also fails if it has to wait too long for the Retry-After of a probe.
      request.atMs + waitMs >= (before?.fromMs ?? 0) &&
      (request.path === listingPath ? !answered.has(index) : waitMs > 0)
    );
  });
  if (!isFailed) return false;
  const period = { fromMs: startMs, toMs: after?.fromMs ?? evidence.endMs };
  return reaches(rule, countFailed(evidence, target, period).most);
}

interface Failed {
  readonly polls: number;
  readonly ms: number;
}

function reaches({ hold }: TargetRule, { polls, ms }: Failed): boolean {
  return "polls" in hold ? polls >= hold.polls : ms >= hold.ms;
}

/** How many polls failed in a time without an observation, and what passed between them. */
function countFailed(
  evidence: Evidence,
  target: string,
  { fromMs, toMs }: Period,
): { readonly least: Failed; readonly most: Failed } {
  const least = { polls: 0, ms: 0 };
  const most = { polls: 0, ms: 0 };
  for (const { number, watchMs, lastPollMs } of evidence.lives) {
    if (watchMs === null) continue;
    const [from, to] = [Math.max(fromMs, watchMs), Math.min(toMs, lastPollMs ?? toMs)];
    if (to < from) continue;
    const due = pollsWithin(evidence, from, to);
    most.polls += due.most + 2;
    most.ms += to - from;
    // A fault of the store may lose a poll.
    const lost = evidence.storeFaults
      .values()
      .filter((hit) => hit === number)
      .toArray().length;
    const refused = requestsFor(evidence, target, number).filter(
      (request) => isRefusal(request) && request.atMs >= from && request.atMs <= to,
    ).length;
    // Polls that are not sent, as the key is refused, do not count.
    const failed = refused === 0 ? due.least - 2 : Math.min(due.least - 2, refused - 1);
    least.polls += Math.max(0, failed - lost);
    least.ms += Math.max(0, to - from - (3 + 2 * lost) * longestPollDistanceMs(evidence.scenario));
  }
  return { least, most };
}
