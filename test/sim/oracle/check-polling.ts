import type { History } from "../history.ts";
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
    for (const { atMs, patienceUntilMs } of [...requests, { atMs: endMs, patienceUntilMs: 0 }]) {
      const latestMs = Math.max(lastMs, patienceMs) + 2.5 * intervalMs + timeoutMs;
      if (atMs > latestMs) {
        const text = `process ${number} did not ask for ${target} from ${lastMs} to ${atMs} ms`;
        return [violation(text, target)];
      }
      lastMs = atMs;
      patienceMs = Math.max(patienceMs, patienceUntilMs);
    }
    return [];
  });
}
