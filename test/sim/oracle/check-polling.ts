import type { History, ServiceRequest } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { isRefusal } from "./read-answer.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** That polling never falls silent, or nothing that is seen would say anything; by a schedule: `checkSchedule`. */
export function checkPolling(
  scenario: Scenario,
  history: History,
  target: string,
): readonly Violation[] {
  const { intervalMs, timeoutMs, schedule } = scenario;
  if (schedule !== null) return [];
  return history.lives.flatMap(({ number, watchMs, lastPollMs }) => {
    if (watchMs === null) return [];
    const requests = history.requests.filter(
      (request) => request.life === number && request.target === target,
    );
    const endMs = lastPollMs ?? history.endMs;
    let waitUntilMs = watchMs;
    let refusals = 0;
    for (const request of [...requests, null]) {
      const atMs = request?.atMs ?? endMs;
      const latestMs = waitUntilMs + 2.5 * intervalMs + timeoutMs;
      if (atMs > latestMs) {
        const text = `process ${number} did not ask for ${target} from ${waitUntilMs} to ${atMs} ms`;
        return [violation(text, target)];
      }
      if (!request) break;
      // What was not answered takes no refusal back.
      if (isRefusal(request)) refusals += 1;
      else if (request.exchange.end?.how === "whole") refusals = 0;
      const waitMs = Math.max(retryAfterMs(request), backOffMs(refusals, intervalMs));
      waitUntilMs = Math.max(waitUntilMs, atMs + waitMs);
    }
    return [];
  });
}

const longestBackOffMs = 5 * 60_000;

/**
 * How long a key is left alone after so many refusals in a row: it is tried at the next poll, and after
 * each further refusal at twice the distance.
 */
export function backOffMs(refusals: number, intervalMs: number): number {
  if (refusals < 2) return 0;
  return Math.max(0, Math.min(longestBackOffMs, intervalMs * 2 ** (refusals - 1)) - intervalMs);
}

export function retryAfterMs({ answer }: ServiceRequest): number {
  return Number(answer?.headers["retry-after"] ?? 0) * 1_000;
}
