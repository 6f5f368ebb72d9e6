import { setTimeout } from "node:timers/promises";

const deadlineMs = 60_000;
const betweenMs = 100;

/** Asks again and again until there is an answer, and fails after a minute with the last error. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    let problem: unknown = "no answer";
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > endMs) throw new Error(`never: ${what}`, { cause: problem });
    await setTimeout(betweenMs);
  }
}
