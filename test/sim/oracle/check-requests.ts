import type { History, Life, ServiceRequest } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { stalledMs } from "./check-lives.ts";
import { backOffMs, retryAfterMs } from "./check-polling.ts";
import { longestGapMs, stepsBetween, turnsWithin } from "./due-polls.ts";
import { isRefusal } from "./read-answer.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** That the service is asked no more often than it should be, and left alone when it asks for that. */
export function checkRequests(scenario: Scenario, history: History): readonly Violation[] {
  return history.lives.flatMap((life) => {
    const own = history.requests
      .filter((request) => request.life === life.number)
      .toSorted((one, other) => one.exchange.sentMs - other.exchange.sentMs);
    return [
      ...checkRetries(scenario, history, life, own),
      ...by(own, ({ key }) => key).flatMap((some) => checkLimit(scenario, some)),
      ...by(own, ({ target }) => target).flatMap(checkPatience),
      ...by(own, ({ target, path }) => `${target} ${path}`).flatMap((some) => [
        ...checkOverlaps(some),
        ...checkAbandoned(scenario, life, some),
        ...checkTurns(history, life, some, timingOf(scenario, own, some)),
        ...checkRefusals(history, some, timingOf(scenario, own, some)),
      ]),
    ];
  });
}

/** In no period are more requests sent with a key than its limit has. */
function checkLimit(
  { rateLimit: { requests, perMs } }: Scenario,
  own: readonly ServiceRequest[],
): readonly Violation[] {
  for (const [at, { key, life, exchange }] of own.entries()) {
    const first = own[at - requests];
    if (!first || exchange.sentMs - first.exchange.sentMs >= perMs) continue;
    const text = `process ${life} sent more than ${requests} requests with ${key} from ${first.exchange.sentMs} to ${exchange.sentMs} ms`;
    return [violation(text, key)];
  }
  return [];
}

/** Nothing is asked for with a key in a region before the time that `Retry-After` named. */
function checkPatience(own: readonly ServiceRequest[]): readonly Violation[] {
  for (const request of own) {
    const { target, exchange } = request;
    const { end } = exchange;
    const waitMs = retryAfterMs(request);
    if (waitMs === 0 || end?.how !== "whole") continue;
    const early = own.find(
      ({ exchange: { sentMs } }) => sentMs > end.atMs && sentMs < end.atMs + waitMs,
    );
    if (!early) continue;
    const text = `${target} was asked for at ${early.exchange.sentMs} ms, though the answer at ${end.atMs} ms asked for ${waitMs} ms of patience`;
    return [violation(text, target)];
  }
  return [];
}

function checkOverlaps(own: readonly ServiceRequest[]): readonly Violation[] {
  for (const [at, { target, exchange }] of own.entries()) {
    const before = own[at - 1];
    if (!before || (before.exchange.end?.atMs ?? Infinity) <= exchange.sentMs) continue;
    const text = `${target} was asked for at ${exchange.sentMs} ms, though a request was under way`;
    return [violation(text, target)];
  }
  return [];
}

/** An answer is waited for until the time-out; a request that repeats another only until the next turn. */
function checkAbandoned(
  { timeoutMs }: Scenario,
  { lastPollMs }: Life,
  own: readonly ServiceRequest[],
): readonly Violation[] {
  return own.flatMap(({ target, exchange: { sentMs, end } }, at) => {
    if (
      end?.how !== "abandoned" ||
      end.atMs >= Math.min(sentMs + timeoutMs, lastPollMs ?? Infinity)
    ) {
      return [];
    }
    const before = own[at - 1];
    if (before && isRetryable(before)) return [];
    const text = `the answer for ${target} was given up at ${end.atMs} ms, asked for at ${sentMs} ms`;
    return [violation(text, target)];
  });
}

/** What may be asked for once more in the same turn. */
function isRetryable({ answer, exchange: { end } }: ServiceRequest): boolean {
  if (end?.how !== "whole" || answer === null) return true;
  return answer.status === 429 || answer.status >= 500;
}

/** When turns began. Where nothing is retryable, a request begins one. */
export function turnsOf(own: readonly ServiceRequest[]): readonly number[] {
  return own.flatMap(({ exchange }, at) => {
    const before = own[at - 1];
    return before && isRetryable(before) ? [] : [exchange.sentMs];
  });
}

/**
 * A turn comes once in each interval, at its own place in it, so that no more turns begin in a time than
 * it has intervals; the first turn of a process is beside them.
 */
function checkTurns(
  history: History,
  { startMs }: Life,
  own: readonly ServiceRequest[],
  timing: Timing,
): readonly Violation[] {
  const { intervalMs, schedule } = timing;
  if (schedule !== null) return [];
  const turns = turnsOf(own).filter((sentMs) => !hadToWait(sentMs, timing));
  for (const [from, fromMs] of turns.entries()) {
    for (const [to, toMs] of turns.entries()) {
      if (to <= from) continue;
      const more = to - from - (from === 0 ? 1 : 0);
      const slackMs = intervalMs / 2 + stalledMs(history, startMs, toMs);
      if (more * intervalMs <= toMs - fromMs + slackMs) continue;
      const text = `${askedFor(own[0])} had ${to - from + 1} turns from ${fromMs} to ${toMs} ms`;
      return [violation(text, own[0]?.target ?? "")];
    }
  }
  return [];
}

interface Timing {
  /** Null: as often as `intervalMs` says. */
  readonly schedule: Scenario["schedule"];
  /** How often it is asked for. */
  readonly intervalMs: number;
  /** When the time was over that an answer with the same key and region asked to wait for. */
  readonly resumptionsMs: readonly number[];
}

function timingOf(
  { intervalMs, schedule, probes }: Scenario,
  all: readonly ServiceRequest[],
  [first]: readonly ServiceRequest[],
): Timing {
  const probe = probes.find(({ path }) => path === first?.path);
  const resumptionsMs = all.flatMap((request) => {
    const waitMs = retryAfterMs(request);
    const { end } = request.exchange;
    return request.target === first?.target && waitMs > 0 && end ? [end.atMs + waitMs] : [];
  });
  return probe
    ? { schedule: null, intervalMs: probe.everyMs, resumptionsMs }
    : { schedule, intervalMs, resumptionsMs };
}

/** Whether the turn of a request began earlier than it was sent. */
function hadToWait(sentMs: number, { resumptionsMs }: Timing): boolean {
  return resumptionsMs.some((ms) => sentMs >= ms && sentMs < ms + slackMs);
}

function askedFor(request: ServiceRequest | undefined): string {
  if (request === undefined) return "";
  const { target, path } = request;
  return path === "/local-sandbox" ? target : `${path} of ${target}`;
}

/** A key that is refused again and again is asked about at ever longer distances. */
function checkRefusals(
  history: History,
  own: readonly ServiceRequest[],
  timing: Timing,
): readonly Violation[] {
  const { intervalMs, schedule } = timing;
  let refusals = 0;
  for (const [at, request] of own.entries()) {
    const { target, exchange } = request;
    refusals = isRefusal(request) ? refusals + 1 : 0;
    const next = own[at + 1];
    // The distance is one of turns, and this one began earlier.
    if (refusals === 0 || !next || hadToWait(exchange.sentMs, timing)) continue;
    const distanceMs = next.exchange.sentMs - exchange.sentMs;
    if (distanceMs >= backOffMs(refusals, intervalMs) + intervalMs / 2 - slackMs) continue;
    // A step of the wall clock can make the next poll due at once.
    const { sentMs } = next.exchange;
    if (schedule && stepsBetween(history, sentMs - longestGapMs(schedule), sentMs) > 0) continue;
    const text = `${askedFor(request)} was asked for ${distanceMs} ms after it had refused the key ${refusals} times in a row`;
    return [violation(text, target)];
  }
  return [];
}

/** How much later than its turn a request can be sent, as others wait for the limit too. */
const slackMs = 15_000;

/** Requests that begin no turn are retries, which are at most a tenth of all requests. */
function checkRetries(
  scenario: Scenario,
  history: History,
  { number, watchMs, lastPollMs }: Life,
  own: readonly ServiceRequest[],
): readonly Violation[] {
  if (watchMs === null) return [];
  const lastMs = Math.min(own.at(-1)?.exchange.sentMs ?? watchMs, lastPollMs ?? Infinity);
  const { most } = turnsWithin(scenario, history, watchMs, lastMs);
  const turns = scenario.targets.length * (most + 2);
  const polls = own.filter(({ path }) => path === "/local-sandbox").length;
  if (polls - turns <= polls / 10) return [];
  const text = `process ${number} sent ${polls} requests for listings, with at most ${turns} turns`;
  return [violation(text, `process ${number} `)];
}

function by<T>(all: readonly T[], keyOf: (each: T) => string): readonly (readonly T[])[] {
  return [...Map.groupBy(all, keyOf).values()];
}
