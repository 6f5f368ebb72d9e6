import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRepeater } from "../../src/notify/repeater.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** Repeats something every second that ends when the test says so. */
function repeat(firstAfterMs: number) {
  const clock = createFakeClock();
  const turns: (() => void)[] = [];
  const repeater = createRepeater({
    clock,
    everyMs: 1_000,
    firstAfterMs,
    run: () => new Promise((resolve) => void turns.push(resolve)),
  });
  /** Lets time pass; then gives how many turns have begun. */
  const pass = async (ms: number): Promise<number> => {
    clock.advance(ms);
    await setImmediate();
    return turns.length;
  };
  return { clock, repeater, turns, pass };
}

it("begins after the first delay, and then at even distances", async () => {
  const { repeater, turns, pass } = repeat(300);
  repeater.start();
  expect(await pass(299)).toBe(0);
  for (const count of [1, 2, 3]) {
    expect(await pass(1)).toBe(count);
    turns[count - 1]?.();
    expect(await pass(999)).toBe(count);
  }
});

it("begins no turn beside one that takes longer than the distance between two", async () => {
  const { repeater, turns, pass } = repeat(0);
  repeater.start();
  expect(await pass(0)).toBe(1);
  expect(await pass(2_500)).toBe(1);
  turns[0]?.();
  expect(await pass(499)).toBe(1);
  expect(await pass(1)).toBe(2);
});

it("stops when the turn under way has ended, and begins no other", async () => {
  const { clock, repeater, turns, pass } = repeat(0);
  repeater.start();
  await pass(0);
  let isStopped = false;
  const stopped = repeater.stop().then(() => (isStopped = true));
  await pass(5_000);
  expect([isStopped, turns.length, clock.armed]).toEqual([false, 1, 0]);
  turns[0]?.();
  await stopped;
  repeater.start();
  expect(await pass(5_000)).toBe(1);
});
