import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { runInSlices } from "../../src/lib/iterables.ts";

it("the event loop turns while long work is done, and not between short slices", async () => {
  let slices = 0;
  const endMs = performance.now() + 100;
  function* work() {
    while (performance.now() < endMs) {
      slices++;
      yield;
    }
    return "done";
  }
  const turns: number[] = [];
  const ended = new AbortController();
  const counting = (async () => {
    while (!ended.signal.aborted) {
      await setImmediate();
      turns.push(slices);
    }
  })();
  expect(await runInSlices(work())).toBe("done");
  ended.abort();
  await counting;
  expect(turns.length).toBeGreaterThan(2);
  expect(slices).toBeGreaterThan(turns.length);
});

it("what the work throws is what it ends with", async () => {
  function* work(): Generator<void, never> {
    yield;
    throw new RangeError("broken");
  }
  await expect(runInSlices(work())).rejects.toThrow("broken");
});
