import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScheduler, type Scheduled } from "../../src/polling/scheduler.ts";
import { createTicker } from "../../src/polling/ticker.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const second = 1_000;

/** A scheduler of N targets, in rounds of some length, whose polls end at once. */
function start(
  count: number,
  roundSeconds: number,
  clock = createFakeClock(),
  isUrgent: (name: string) => boolean = () => false,
) {
  const startedMs = clock.now().monotonicMs;
  const names = Array.from({ length: count }, (_, index) => `us/key-${index}`);
  /** Times since the start. */
  const runs: { readonly name: string; readonly atMs: number; readonly leftMs: number }[] = [];
  const schedule = { kind: "every", ms: roundSeconds * second } as const;
  const scheduler = createScheduler<Scheduled>({
    units: names.map((name) => ({ name, isUrgent: () => isUrgent(name) })),
    ticker: createTicker(schedule, { clock, log: { warn() {} } }),
    clock,
    run({ name }, deadlineMs) {
      const nowMs = clock.now().monotonicMs;
      runs.push({ name, atMs: nowMs - startedMs, leftMs: deadlineMs - nowMs });
      return Promise.resolve();
    },
  });
  scheduler.start();
  return {
    clock,
    runs,
    /** Lets runs end, as they do between two timers. */
    pass: async (seconds: number, stepMs = 500): Promise<void> => {
      for (let passedMs = 0; passedMs < seconds * second; passedMs += stepMs) {
        clock.advance(stepMs);
        await settle();
      }
    },
    /** When each target had its runs. */
    times: (): readonly (readonly number[])[] => {
      const byName = Map.groupBy(runs, ({ name }) => name);
      return names.map((name) => (byName.get(name) ?? []).map(({ atMs }) => atMs));
    },
  };
}

const gapsOf = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((each, index) => each - (times[index] ?? 0));

it.each([
  [1, 600, 2],
  [7, 600, 2],
  [40, 600, 2],
  [400, 600, 2],
  [5_000, 600, 25],
  [8_000, 30, 30],
  [50_000, 30, 30],
])(
  "the first poll of each of %i targets in rounds of %i s comes once within %i s of the start, never many at a time",
  (count, roundSeconds, withinSeconds) => {
    const { clock, runs } = start(count, roundSeconds);
    clock.advance(withinSeconds * second);
    const first = new Map(runs.toReversed().map(({ name, atMs }) => [name, atMs]));
    expect(first.size).toBe(count);
    const atOnce = Map.groupBy(first.values(), (atMs) => Math.floor(atMs / second));
    const most = Math.max(...[...atOnce.values()].map(({ length }) => length));
    expect(most).toBeLessThanOrEqual(Math.max(200, Math.ceil(count / roundSeconds)) + 1);
  },
);

it("the first polls of urgent targets come before those of others", () => {
  const { clock, runs } = start(1_000, 30, createFakeClock(), (name) => name.endsWith("7"));
  clock.advance(600);
  expect(runs.length).toBeGreaterThan(100);
  expect(runs.slice(0, 100).every(({ name }) => name.endsWith("7"))).toBe(true);
});

describe("the runs after it", () => {
  it("come at the same phase in every round, spread over the interval", async () => {
    const { pass, times } = start(200, 30);
    await pass(153);
    const phases = times().map((of) => [
      ...new Set(of.slice(2).map((atMs) => Math.round(atMs % 30_000))),
    ]);
    expect(phases.every(({ length }) => length === 1)).toBe(true);
    const sixths = Map.groupBy(phases.flat(), (phase) => Math.floor(phase / 5_000));
    const counts = [...sixths.values()].map(({ length }) => length);
    expect([counts.length, Math.min(...counts) > 15, Math.max(...counts) < 60]).toEqual([
      6,
      true,
      true,
    ]);
  });

  it.each([
    [300, 10],
    [1_000, 1],
  ])("are neither lost nor doubled for any of %i targets, each %i s", async (count, seconds) => {
    const { pass, times } = start(count, seconds);
    await pass(6 * seconds, seconds * 50);
    const gaps = times().flatMap(gapsOf);
    expect(gaps.length).toBeGreaterThan(3 * count);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_500 * seconds);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500 * seconds - 1);
  });

  it("are not lost at the very end of a round when timers are late", async () => {
    const lateness = fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 20 });
    const property = fc.asyncProperty(lateness, async (late) => {
      const real = createFakeClock();
      let timers = 0;
      const { pass, times } = start(60, 10, {
        ...real,
        setTimer: (delayMs, call) =>
          real.setTimer(delayMs + (late[timers++ % late.length] ?? 0), call),
      });
      await pass(65, 250);
      for (const each of times()) {
        const rounds = each.map((atMs) => Math.floor(atMs / 10_000));
        expect(Math.max(...gapsOf(rounds))).toBeLessThanOrEqual(2);
        expect(rounds.length).toBeGreaterThanOrEqual(6);
      }
    });
    await fc.assert(property, { numRuns: 10, seed: 20 });
  });
});

it.each([4, 9.9, 10, 10.1, 14.995, 25, 70])(
  "after the process was held up for %d seconds, runs that come late have time to be taken all the same",
  async (heldUpSeconds) => {
    const { clock, pass, runs } = start(60, 10);
    await pass(23);
    const before = runs.length;
    clock.holdUp(heldUpSeconds * second);
    await pass(30);
    const after = runs.slice(before);
    expect(after.length).toBeGreaterThan(60);
    expect(Math.min(...after.map(({ leftMs }) => leftMs))).toBeGreaterThanOrEqual(second);
  },
);
