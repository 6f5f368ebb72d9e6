import type { History, Life, ServiceRequest } from "../history.ts";
import type { PollSchedule } from "../poll-schedule.ts";
import type { Scenario } from "../scenario.ts";
import { stalledMs } from "./check-lives.ts";
import { backOffMs, retryAfterMs } from "./check-polling.ts";
import { turnsOf } from "./check-requests.ts";
import { countAfter, duePolls, indexAfter, longestGapMs, stepsBetween } from "./due-polls.ts";
import { isRefusal } from "./read-answer.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** A target's turn is at its own place in this time after a poll is due, or in all of a shorter interval. */
const longestSpreadMs = 60_000;
/** How much later a request comes where others wait for the limit too. */
const slackMs = 30_000;
/** As long as a turn may take, in which the next one passes. */
const underWayMs = 60_000;

/** That a target is polled when the schedule says so, no less and no more, also where clocks are changed. */
export function checkSchedule(
  scenario: Scenario,
  history: History,
  target: string,
): readonly Violation[] {
  const { schedule } = scenario;
  if (schedule === null) return [];
  return history.lives.flatMap((life) => {
    const own = history.requests
      .filter((request) => request.life === life.number && request.target === target)
      .toSorted((one, other) => one.exchange.sentMs - other.exchange.sentMs);
    return [
      ...checkPauses(schedule, history, life, own, target),
      ...checkDoubles(schedule, history, life, own, target),
    ];
  });
}

function checkPauses(
  schedule: PollSchedule,
  history: History,
  { number, watchMs, lastPollMs }: Life,
  own: readonly ServiceRequest[],
  target: string,
): readonly Violation[] {
  if (watchMs === null) return [];
  const due = duePolls(schedule, history);
  const endMs = lastPollMs ?? history.endMs;
  const spreadMs = Math.min(schedule.intervalMs, longestSpreadMs);
  let latestMs = watchMs + slackMs;
  let fromMs = watchMs;
  let refusals = 0;
  for (const [at, request] of [...own, null].entries()) {
    const sentMs = request?.exchange.sentMs ?? endMs;
    if (sentMs > latestMs + stalledMs(history, fromMs, latestMs)) {
      const text = `process ${number} did not ask for ${target} from ${fromMs} to ${sentMs} ms, though a poll was due`;
      return [violation(text, target)];
    }
    if (!request) break;
    // What was not answered takes no refusal back.
    if (isRefusal(request)) refusals += 1;
    else if (request.exchange.end?.how === "whole") refusals = 0;
    const answeredMs = request.exchange.end?.atMs ?? sentMs;
    fromMs = Math.max(
      fromMs,
      answeredMs + retryAfterMs(request),
      sentMs + backOffMs(refusals, schedule.intervalMs),
      // The first poll of a process stands for the one that is due soon after it.
      sentMs + (at === 0 ? schedule.intervalMs / 2 : 0),
    );
    let next = indexAfter(due, fromMs + underWayMs);
    while (isAfterStep(schedule, history, due[next] ?? Infinity)) next += 1;
    latestMs = (due[next] ?? Infinity) + spreadMs + slackMs;
  }
  return [];
}

/** What was due by the wall clock as it was before may come instead. */
function isAfterStep(schedule: PollSchedule, history: History, ms: number): boolean {
  return ms < Infinity && stepsBetween(history, ms - longestGapMs(schedule) - 61_000, ms) > 0;
}

/** Each turn of a process but the first belongs to a poll of its own that was due before it. */
function checkDoubles(
  schedule: PollSchedule,
  history: History,
  { number }: Life,
  own: readonly ServiceRequest[],
  target: string,
): readonly Violation[] {
  const due = duePolls(schedule, history);
  const spreadMs = Math.min(schedule.intervalMs, longestSpreadMs);
  const turns = turnsOf(own).slice(1);
  for (const [from, fromMs] of turns.entries()) {
    for (const [later, toMs] of turns.slice(from + 1).entries()) {
      const steps = stepsBetween(history, fromMs - longestGapMs(schedule), toMs);
      if (later + 1 <= countAfter(due, fromMs - spreadMs, toMs) + steps) continue;
      const text = `process ${number} asked for ${target} ${later + 2} times from ${fromMs} to ${toMs} ms, more often than a poll was due`;
      return [violation(text, target)];
    }
  }
  return [];
}
