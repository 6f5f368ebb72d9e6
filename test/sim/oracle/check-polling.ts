import type { History, SentAnswer } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** That polling never falls silent, or nothing that is seen would say anything. */
export function checkPolling(
  scenario: Scenario,
  history: History,
  target: string,
): readonly Violation[] {
  const { intervalMs, timeoutMs } = scenario;
  return history.lives.flatMap(({ number, watchMs, lastPollMs }) => {
    if (watchMs === null) return [];
    const requests = history.requests.filter(
      (request) => request.life === number && request.target === target,
    );
    const endMs = lastPollMs ?? history.endMs;
    let patienceMs = watchMs;
    let lastMs = watchMs;
    for (const { atMs, answer } of [...requests, { atMs: endMs, answer: null }]) {
      const latestMs = Math.max(lastMs, patienceMs) + 2.5 * intervalMs + timeoutMs;
      if (atMs > latestMs) {
        const text = `process ${number} did not ask for ${target} from ${lastMs} to ${atMs} ms`;
        return [violation(text, target)];
      }
      lastMs = atMs;
      patienceMs = Math.max(patienceMs, atMs + waitMsAfter(answer));
    }
    return [];
  });
}

/** A refused key is asked about once in five minutes. */
const refusedMs = 5 * 60_000;

function waitMsAfter(answer: SentAnswer | null): number {
  if (answer?.status === 401) return refusedMs;
  return Number(answer?.headers["retry-after"] ?? 0) * 1_000;
}
