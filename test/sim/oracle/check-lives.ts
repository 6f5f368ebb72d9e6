import type { History, Life } from "../history.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** How long a process may take to stop: what is being sent gets five seconds. */
const graceMs = 6_000;

/** That each process starts and stops as it should, whatever else goes wrong. */
export function checkLives(history: History): readonly Violation[] {
  return history.lives.flatMap((life): readonly Violation[] => {
    const { number, ended, lastPollMs, endMs } = life;
    const about = `process ${number} `;
    if (ended?.how === "could not start") {
      if (wasRefused(history, life)) return [];
      return [violation(`process ${number} could not start: ${ended.error}`, about)];
    }
    if (ended?.how === "killed" || lastPollMs === null) return [];
    const latestMs = lastPollMs + graceMs + stalledMs(history, lastPollMs);
    const isLate = (endMs ?? Infinity) > latestMs;
    return [
      ...(ended?.how === "stopped badly"
        ? [violation(`process ${number} stopped badly: ${ended.error}`, about)]
        : []),
      ...(isLate ? [violation(`process ${number} did not stop in ${graceMs} ms`, about)] : []),
    ];
  });
}

/** Whether its store refused something: then it may end at its start. */
function wasRefused({ storeFaults }: History, { number }: Life): boolean {
  return Array.from(storeFaults.values()).includes(number);
}

/** For how long processes were held up since then. */
export function stalledMs({ stalls, dueMs }: History, sinceMs: number, untilMs = Infinity): number {
  let total = 0;
  for (const [moment, ms] of stalls) {
    const atMs = dueMs[moment] ?? 0;
    if (atMs >= sinceMs - ms && atMs <= untilMs) total += ms;
  }
  return total;
}
