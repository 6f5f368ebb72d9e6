import type { Life, ServiceRequest } from "../history.ts";
import { listingPath, type Scenario } from "../scenario.ts";
import { countAfter, duePolls, indexAfter, longestGapMs, stepsBetween } from "./due-polls.ts";
import { stalledMs, violation, type Evidence, type Violation } from "./evidence.ts";
import { isRefusal, refusalsAfter, retryAfterMs } from "./read-answer.ts";

/** The requests of one process for one path of a target, in the order in which they were sent. */
interface Series {
  readonly life: Life;
  readonly target: string;
  readonly path: string;
  readonly own: readonly ServiceRequest[];
  /** Those for other paths of the target, too. */
  readonly all: readonly ServiceRequest[];
  /** Null: once in each interval. */
  readonly schedule: Scenario["schedule"];
  readonly intervalMs: number;
}

/** How much later than due a request can be sent, as others wait for the limit too. */
const slackMs = 15_000;

/** The service is asked as often as it should be, no more often, and not before the end of a `Retry-After`. */
export function checkRequests(evidence: Evidence): readonly Violation[] {
  const { targets, schedule, intervalMs, probes } = evidence.scenario;
  return evidence.lives.flatMap((life) => {
    const requests = evidence.requests
      .filter((request) => request.life === life.number)
      .toSorted((one, other) => one.exchange.sentMs - other.exchange.sentMs);
    const byKey = Map.groupBy(requests, ({ key }) => key);
    return [
      ...byKey.values().flatMap((own) => checkLimit(evidence.scenario, own)),
      ...targets.flatMap(({ name: target }) => {
        const all = requests.filter((request) => request.target === target);
        const paths = [
          { path: listingPath, schedule, intervalMs },
          ...probes.map(({ path, everyMs }) => ({ path, schedule: null, intervalMs: everyMs })),
        ];
        const faults = paths.flatMap((timing) => {
          const own = all.filter(({ path }) => path === timing.path);
          const series = { life, target, own, all, ...timing };
          return [
            ...pauses(evidence, series),
            ...excess(evidence, series),
            ...refusals(evidence, series),
            ...abandoned(evidence.scenario, series),
          ];
        });
        return [...faults, ...earlyRequests(all)].map((text) => violation(text, target));
      }),
    ];
  });
}

/** In no period are more requests sent with a key than its limit has. */
function checkLimit({ rateLimit }: Scenario, own: readonly ServiceRequest[]) {
  const { requests, perMs } = rateLimit;
  return own
    .flatMap(({ key, life, exchange: { sentMs } }, at): readonly Violation[] => {
      const fromMs = own[at - requests]?.exchange.sentMs ?? -Infinity;
      if (sentMs - fromMs >= perMs) return [];
      const text = `process ${life} sent more than ${requests} requests with ${key} from ${fromMs} to ${sentMs} ms`;
      return [violation(text, key)];
    })
    .slice(0, 1);
}

/** Nothing is asked for with a key in a region before the time that `Retry-After` named. */
function earlyRequests(all: readonly ServiceRequest[]): readonly string[] {
  for (const request of all) {
    const { target, exchange } = request;
    const waitMs = retryAfterMs(request);
    const { end } = exchange;
    if (waitMs === 0 || end?.how !== "whole") continue;
    const early = all.find(
      ({ exchange: { sentMs } }) => sentMs > end.atMs && sentMs < end.atMs + waitMs,
    );
    if (!early) continue;
    const { sentMs } = early.exchange;
    return [
      `${target} was asked for at ${sentMs} ms, ${sentMs - end.atMs} ms after a Retry-After of ${waitMs} ms`,
    ];
  }
  return [];
}

/** A path is asked for when it is due, unless the key is refused or an answer asked to wait. */
function pauses(evidence: Evidence, series: Series): readonly string[] {
  const { life, path, all, schedule, intervalMs } = series;
  if (life.watchMs === null) return [];
  let fromMs = life.watchMs;
  let latestMs = schedule ? fromMs + 2 * slackMs : latestAfter(evidence, series, fromMs);
  let refused = 0;
  for (const [at, request] of [...all, null].entries()) {
    const isOwn = request === null || request.path === path;
    const sentMs = request?.exchange.sentMs ?? life.lastPollMs ?? evidence.endMs;
    const heldUpMs = schedule ? stalledMs(evidence, fromMs, latestMs) : 0;
    if (isOwn && sentMs > latestMs + heldUpMs) {
      const what = `process ${life.number} did not ask for ${textOf(series)}`;
      return [`${what} from ${fromMs} to ${sentMs} ms, though a poll was due`];
    }
    if (!request) break;
    // Every call with a key in a region waits for as long as an answer to one of them asked for.
    const waitMs = retryAfterMs(request);
    if (isOwn || waitMs > 0) {
      fromMs = Math.max(fromMs, (request.exchange.end?.atMs ?? sentMs) + waitMs);
    }
    if (isOwn) {
      refused = refusalsAfter(request, refused);
      // By a schedule, the first poll of a process stands for the one that is due soon after it.
      const firstMs = schedule && at === 0 ? intervalMs / 2 : 0;
      fromMs = Math.max(fromMs, sentMs + backOffMs(refused, intervalMs), sentMs + firstMs);
    }
    latestMs = latestAfter(evidence, series, fromMs);
  }
  return [];
}

/** A poll that takes so long replaces the next one. */
const longestPollMs = 60_000;

/** When the next request comes at the latest after a time from which it may be sent. */
function latestAfter(evidence: Evidence, { schedule, intervalMs }: Series, fromMs: number): number {
  if (schedule === null) return fromMs + 2.5 * intervalMs + evidence.scenario.timeoutMs;
  const due = duePolls(evidence, schedule);
  // Right after a step of the wall clock, what was due by it before may come instead.
  const isAfterStep = (ms: number): boolean =>
    ms < Infinity && stepsBetween(evidence, ms - longestGapMs(schedule) - 61_000, ms) > 0;
  let next = indexAfter(due, fromMs + longestPollMs);
  while (isAfterStep(due[next] ?? Infinity)) next += 1;
  return (due[next] ?? Infinity) + spreadMs(intervalMs) + 2 * slackMs;
}

/** A target has its own time in this period after a poll is due. */
function spreadMs(intervalMs: number): number {
  return Math.min(intervalMs, 60_000);
}

/** No more polls begin in a time than are due in it. The first poll of a process is not counted. */
function excess(evidence: Evidence, series: Series): readonly string[] {
  const { life, own, schedule, intervalMs } = series;
  const due = schedule && duePolls(evidence, schedule);
  const countDue = (fromMs: number, toMs: number): number => {
    if (schedule === null || due === null) {
      const heldUpMs = stalledMs(evidence, life.startMs, toMs);
      return (toMs - fromMs + heldUpMs) / intervalMs + 0.5;
    }
    const steps = stepsBetween(evidence, fromMs - longestGapMs(schedule), toMs);
    return countAfter(due, fromMs - spreadMs(intervalMs), toMs) + steps;
  };
  // Where nothing is retryable, a request begins a poll.
  const begins = own.filter((_, at) => at === 0 || !isRetryable(own[at - 1]));
  const polls = begins
    .map(({ exchange }) => exchange.sentMs)
    .filter((sentMs) => schedule !== null || !hadToWait(sentMs, series))
    .slice(1);
  for (const [from, fromMs] of polls.entries()) {
    for (const [to, toMs] of polls.entries()) {
      if (to <= from || to - from <= countDue(fromMs, toMs)) continue;
      const times = `${to - from + 1} times from ${fromMs} to ${toMs} ms`;
      return [`${textOf(series)} was polled ${times}, more often than it was due`];
    }
  }
  return [];
}

/** What may be asked for once more in the same poll. */
function isRetryable(request: ServiceRequest | undefined): boolean {
  if (request?.exchange.end?.how !== "whole" || request.answer === null) return true;
  return request.answer.status === 429 || request.answer.status >= 500;
}

/** Whether a request waited for the end of a `Retry-After`, so that its poll began earlier. */
function hadToWait(sentMs: number, { all }: Series): boolean {
  return all.some((request) => {
    const resumedMs = (request.exchange.end?.atMs ?? Infinity) + retryAfterMs(request);
    return retryAfterMs(request) > 0 && sentMs >= resumedMs && sentMs < resumedMs + slackMs;
  });
}

function textOf({ target, path }: Series): string {
  return path === listingPath ? target : `${path} of ${target}`;
}

const longestBackOffMs = 5 * 60_000;

/** A refused key is tried at the next poll, and after each further refusal at twice the distance. */
export function backOffMs(refused: number, intervalMs: number): number {
  if (refused < 2) return 0;
  return Math.max(0, Math.min(longestBackOffMs, intervalMs * 2 ** (refused - 1)) - intervalMs);
}

function refusals(evidence: Evidence, series: Series): readonly string[] {
  const { own, intervalMs, schedule } = series;
  let refused = 0;
  for (const [at, request] of own.entries()) {
    refused = isRefusal(request) ? refused + 1 : 0;
    const { sentMs } = request.exchange;
    const nextMs = own[at + 1]?.exchange.sentMs;
    // The distance is one of polls, and this one began earlier.
    if (refused === 0 || nextMs === undefined || hadToWait(sentMs, series)) continue;
    const leastMs = backOffMs(refused, intervalMs) + intervalMs / 2 - slackMs;
    if (nextMs - sentMs >= leastMs) continue;
    // A step of the wall clock can make the next poll due at once.
    if (schedule && stepsBetween(evidence, nextMs - longestGapMs(schedule), nextMs) > 0) continue;
    const times = `had refused the key ${refused} times in a row`;
    return [`${textOf(series)} was asked for ${nextMs - sentMs} ms after it ${times}`];
  }
  return [];
}

/** An answer is waited for until the timeout; a retried request only until the next poll. */
function abandoned({ timeoutMs }: Scenario, { life, target, own }: Series): readonly string[] {
  return own.flatMap(({ exchange: { sentMs, end } }, at) => {
    const latestMs = Math.min(sentMs + timeoutMs, life.lastPollMs ?? Infinity);
    if (end?.how !== "abandoned" || end.atMs >= latestMs) return [];
    if (at > 0 && isRetryable(own[at - 1])) return [];
    return [`the answer for ${target} was abandoned at ${end.atMs} ms, asked for at ${sentMs} ms`];
  });
}
