import { setImmediate as settle } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import { Runner } from "../../src/polling/runner.ts";
import type { Unit } from "../../src/polling/runner.ts";
import type { CallFailure } from "../../src/service/failure.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { failed, second } from "./support/start-polling.ts";

const ok = { kind: "ok" } as const;
const roundMs = 10 * second;

/** Polls eight regions of a key for some rounds, of which four fail, and counts what became of the polls. */
async function pollRegions(requests: number, rounds: number) {
  const clock = createFakeClock();
  const outcomes = new Map<string, number>();
  const beganMs = clock.now().monotonicMs;
  let calls = 0;
  let longestWaitMs = 0;
  const units = Array.from({ length: 8 }, (_, index): Unit<typeof ok> => ({
    name: `region-${index}`,
    target: { region: `region-${index}`, key: "research" },
    schedule: { kind: "every", ms: roundMs },
    async call({ onSent }): Promise<typeof ok | CallFailure> {
      onSent();
      const fails = index < 4;
      calls += Number(fails);
      return fails ? failed("server_error") : ok;
    },
    async commit({ kind }, { startedMs, calledMs }) {
      // Right after the start all wait for one another.
      if (clock.now().monotonicMs > beganMs + 10 * roundMs)
        longestWaitMs = Math.max(longestWaitMs, (calledMs ?? Infinity) - startedMs);
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    },
    lose(error) {
      throw error;
    },
  }));
  const runner = new Runner<typeof ok>(
    {
      loop: "polls",
      limits: new KeyLimits(clock, { requests, perMs: second }),
      budget: createRetryBudget(1),
      random: () => 0.5,
      runs: new Map(),
      ticking: { clock, log: { warn() {} } },
      clock,
    },
    units,
  );
  runner.start();
  for (let passedMs = 0; passedMs < rounds * roundMs; passedMs += 50) {
    clock.advance(50);
    await settle();
  }
  await runner.stop();
  return { outcomes, calls, longestWaitMs };
}

it("polls do not wait for the retries of regions that fail, where the key's limit leaves little beside the polls", async () => {
  const { outcomes, longestWaitMs } = await pollRegions(1, 60);
  expect(longestWaitMs).toBeLessThan(3 * second);
  expect([...outcomes.keys()].toSorted()).toEqual(["failed", "ok"]);
});

it("regions that fail are asked again where the limit allows it", async () => {
  const { calls, longestWaitMs } = await pollRegions(2, 30);
  expect(longestWaitMs).toBeLessThan(second);
  expect(calls).toBeGreaterThan(4 * 31);
});
