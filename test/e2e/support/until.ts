import { setTimeout } from "node:timers/promises";
import { testTimeoutMs } from "../../support/test-timeout.ts";

const betweenMs = 100;

/** Asks again and again until there is an answer other than no, and fails with the last error after a long time. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | false | undefined>,
): Promise<T> {
  const endMs = performance.now() + testTimeoutMs;
  for (;;) {
    let problem: unknown = "no answer";
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > endMs) throw new Error(`never: ${what}`, { cause: problem });
    await setTimeout(betweenMs);
  }
}
