import type { History, ServiceRequest } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { isRefusal } from "./read-answer.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** That no polls or probes fall silent, or nothing that is seen would say anything; polls by a schedule: `checkSchedule`. */
export function checkPolling(
  scenario: Scenario,
  history: History,
  target: string,
): readonly Violation[] {
  const { intervalMs, schedule, probes } = scenario;
  return [
    ...(schedule === null
      ? checkSilence(scenario, history, target, { path: "/local-sandbox", intervalMs })
      : []),
    ...probes.flatMap(({ path, everyMs }) =>
      checkSilence(scenario, history, target, { path, intervalMs: everyMs }),
    ),
  ];
}

function checkSilence(
  { timeoutMs }: Scenario,
  history: History,
  target: string,
  { path, intervalMs }: { readonly path: string; readonly intervalMs: number },
): readonly Violation[] {
  const asked = path === "/local-sandbox" ? target : `${path} of ${target}`;
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
      const isOwn = request === null || request.path === path;
      if (isOwn && atMs > latestMs) {
        const text = `process ${number} did not ask for ${asked} from ${waitUntilMs} to ${atMs} ms`;
        return [violation(text, target)];
      }
      if (!request) break;
      // Every call with a key in a region waits for as long as an answer to one of them asked for.
      const patientMs = atMs + retryAfterMs(request);
      if (!isOwn) {
        if (retryAfterMs(request) > 0) waitUntilMs = Math.max(waitUntilMs, patientMs);
        continue;
      }
      // What was not answered takes no refusal back.
      if (isRefusal(request)) refusals += 1;
      else if (request.exchange.end?.how === "whole") refusals = 0;
      waitUntilMs = Math.max(waitUntilMs, patientMs, atMs + backOffMs(refusals, intervalMs));
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
