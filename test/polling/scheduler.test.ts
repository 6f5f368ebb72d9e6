import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScheduler } from "../../src/polling/scheduler.ts";
import { createTicker } from "../../src/polling/ticker.ts";
import type { Ticker } from "../../src/polling/ticker.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import type { FakeClock } from "../support/fake-clock.ts";

const second = 1_000;
const minute = 60 * second;

function manyTargets(count: number): readonly { readonly name: string }[] {
  return Array.from({ length: count }, (_, index) => ({ name: `us/key-${index}` }));
}

interface ScheduledRun {
  readonly name: string;
  /** Milliseconds since the start, like the deadline. */
  readonly atMs: number;
  readonly deadlineMs: number;
}

/** A scheduler whose polls end at once, unless `poll` says otherwise. */
function start(
  units: readonly { readonly name: string }[],
  {
    lengthMs = 30 * second,
    clock = createFakeClock(),
    ticker = createTicker({ kind: "every", ms: lengthMs }, { clock, log: { warn() {} } }),
    poll = () => Promise.resolve(),
  }: {
    lengthMs?: number;
    clock?: FakeClock;
    ticker?: Ticker;
    poll?: (name: string) => Promise<void>;
  } = {},
) {
  const startedMs = clock.now().monotonicMs;
  const runs: ScheduledRun[] = [];
  const scheduler = createScheduler({
    units,
    ticker,
    clock,
    run({ name }, deadlineMs) {
      const atMs = clock.now().monotonicMs - startedMs;
      runs.push({ name, atMs, deadlineMs: deadlineMs - startedMs });
      return poll(name);
    },
  });
  scheduler.start();
  /** Lets runs end, as they do between two timers. */
  const advance = async (ms: number, stepMs = 500): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(Math.min(stepMs, ms - passed));
      await settle();
    }
  };
  const timesOf = (name: string): readonly number[] =>
    runs.filter((each) => each.name === name).map(({ atMs }) => atMs);
  return { clock, scheduler, runs, advance, timesOf };
}

describe("the first poll", () => {
  it.each([1, 7, 40, 41, 1_000, 5_000])(
    "of each of %i targets comes within two seconds of the start, and once",
    (count) => {
      const { clock, runs } = start(manyTargets(count), { lengthMs: 10 * minute });
      clock.advance(2 * second);
      const firsts = runs.filter(({ atMs }) => atMs <= 2 * second);
      expect(new Set(firsts.map(({ name }) => name)).size).toBe(count);
      expect(firsts.length).toBe(count);
    },
  );
});

describe("the runs after it", () => {
  it("come at the same phase in every round, spread over the interval", async () => {
    const targets = manyTargets(200);
    const { advance, timesOf } = start(targets);
    await advance(5 * 30 * second + 3 * second);
    const phases = targets.map((target) => {
      const times = timesOf(target.name).slice(2);
      const inRound = times.map((atMs) => Math.round(atMs % (30 * second)));
      expect(times.length).toBeGreaterThan(2);
      expect(new Set(inRound).size).toBe(1);
      return inRound[0] ?? 0;
    });
    const perSixth = [0, 0, 0, 0, 0, 0].map(
      (_, sixth) => phases.filter((phase) => Math.floor(phase / 5_000) === sixth).length,
    );
    expect(Math.min(...perSixth)).toBeGreaterThan(15);
    expect(Math.max(...perSixth)).toBeLessThan(60);
  });

  it.each([
    [300, 10 * second],
    [1_000, second],
  ])("are neither lost nor doubled for any of %i targets, each %i ms", async (count, lengthMs) => {
    const targets = manyTargets(count);
    const { advance, timesOf } = start(targets, { lengthMs });
    await advance(6 * lengthMs, lengthMs / 20);
    const gaps = targets.flatMap((target) => {
      const times = timesOf(target.name);
      return times.slice(1).map((each, index) => each - (times[index] ?? 0));
    });
    expect(gaps.length).toBeGreaterThan(3 * count);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1.5 * lengthMs);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.5 * lengthMs - 1);
  });

  it("are not lost at the very end of a round when timers are late", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 20 }),
        async (late) => {
          const real = createFakeClock();
          let timers = 0;
          const clock: FakeClock = {
            ...real,
            setTimer: (delayMs, call) =>
              real.setTimer(delayMs + (late[timers++ % late.length] ?? 0), call),
          };
          const targets = manyTargets(60);
          const { advance, timesOf } = start(targets, { lengthMs: 10 * second, clock });
          await advance(65 * second, 250);
          for (const target of targets) {
            const rounds = timesOf(target.name).map((atMs) => Math.floor(atMs / 10_000));
            const gaps = rounds.slice(1).map((each, index) => each - (rounds[index] ?? 0));
            expect(Math.max(...gaps)).toBeLessThanOrEqual(2);
            expect(rounds.length).toBeGreaterThanOrEqual(6);
          }
        },
      ),
      { numRuns: 10, seed: 20 },
    );
  });
});

describe("after the process was held up", () => {
  it.each([4, 9.9, 10, 10.1, 14.995, 25, 70])(
    "for %d seconds, runs that come late have time to be taken all the same",
    async (heldUpSeconds) => {
      const { clock, advance, runs } = start(manyTargets(60), { lengthMs: 10 * second });
      await advance(23 * second);
      const before = runs.length;
      clock.holdUp(heldUpSeconds * second);
      await advance(30 * second);
      const after = runs.slice(before);
      expect(after.length).toBeGreaterThan(60);
      const leftMs = after.map(({ atMs, deadlineMs }) => deadlineMs - atMs);
      expect(Math.min(...leftMs)).toBeGreaterThanOrEqual(second);
    },
  );
});

describe("stopping", () => {
  it("waits for the runs in progress, starts no more and leaves no timer", async () => {
    const ends: (() => void)[] = [];
    const { clock, scheduler, runs, advance } = start(manyTargets(100), {
      poll: () => new Promise((resolve) => void ends.push(resolve)),
    });
    await advance(second);
    const begun = runs.length;
    expect(begun).toBeGreaterThan(10);
    let stopped = false;
    const stopping = scheduler.stop().then(() => (stopped = true));
    expect(clock.armed).toBe(0);
    for (const end of ends.slice(1)) end();
    await settle();
    expect(stopped).toBe(false);
    ends[0]?.();
    await stopping;
    await advance(2 * minute, 10 * second);
    expect([runs.length, clock.armed]).toEqual([begun, 0]);
  });
});
