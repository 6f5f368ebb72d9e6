import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRepeater } from "../../src/notify/repeater.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** Repeats something every second that ends when the test says so. */
function repeat(firstAfterMs: number) {
  const clock = createFakeClock();
  const runs: (() => void)[] = [];
  const repeater = createRepeater({
    clock,
    everyMs: 1_000,
    firstAfterMs,
    run: () => new Promise((resolve) => void runs.push(resolve)),
  });
  repeater.start();
  /** Lets time pass; then returns how many runs have begun. */
  const pass = async (ms: number): Promise<number> => {
    clock.advance(ms);
    await setImmediate();
    return runs.length;
  };
  return { clock, repeater, runs, pass };
}

it("begins after the first delay, then at even intervals, but no run beside another", async () => {
  const { runs, pass } = repeat(300);
  expect(await pass(299)).toBe(0);
  for (const count of [1, 2, 3]) {
    expect(await pass(1)).toBe(count);
    runs[count - 1]?.();
    expect(await pass(999)).toBe(count);
  }
  expect(await pass(1)).toBe(4);
  expect(await pass(2_500)).toBe(4);
  runs[3]?.();
  expect(await pass(499)).toBe(4);
  expect(await pass(1)).toBe(5);
});

it("stops when the run under way has ended, and begins no other", async () => {
  const { clock, repeater, runs, pass } = repeat(0);
  await pass(0);
  let isStopped = false;
  const stopped = repeater.stop().then(() => (isStopped = true));
  await pass(5_000);
  expect([isStopped, runs.length, clock.armed]).toEqual([false, 1, 0]);
  runs[0]?.();
  await stopped;
  repeater.start();
  expect(await pass(5_000)).toBe(1);
});
