import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createTicker } from "../../src/polling/ticker.ts";
import type { Ticker } from "../../src/polling/ticker.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

describe("every", () => {
  it("does not let the lateness of its timers add up, and reports what is left of a round", () => {
    const clock = createFakeClock();
    const startedMs = clock.now().monotonicMs;
    const rounds: number[][] = [];
    const lateClock = {
      ...clock,
      setTimer: (delayMs: number, call: () => void) => clock.setTimer(delayMs + 700, call),
    };
    const schedule = { kind: "every", ms: 10 * second } as const;
    createTicker(schedule, { clock: lateClock, log: unexpected }).start((leftMs) => {
      rounds.push([clock.now().monotonicMs - startedMs, leftMs]);
    });
    clock.advance(31 * second);
    expect(rounds).toEqual([
      [0, 10_000],
      [10_700, 9_300],
      [20_700, 9_300],
      [30_700, 9_300],
    ]);
  });

  it("leaves out rounds that were slept through and falls back into step", () => {
    const clock = createFakeClock();
    const startedMs = clock.now().monotonicMs;
    const rounds: number[][] = [];
    let lateMs = 25 * second;
    const lateClock = {
      ...clock,
      setTimer(delayMs: number, call: () => void) {
        const cancel = clock.setTimer(delayMs + lateMs, call);
        lateMs = 0;
        return cancel;
      },
    };
    const schedule = { kind: "every", ms: 10 * second } as const;
    createTicker(schedule, { clock: lateClock, log: unexpected }).start((leftMs) => {
      rounds.push([(clock.now().monotonicMs - startedMs) / second, leftMs / second]);
    });
    clock.advance(60 * second);
    expect(rounds).toEqual([
      [0, 10],
      [35, 5],
      [40, 10],
      [50, 10],
      [60, 10],
    ]);
  });
});

describe("cron", () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "Date", "performance"],
      now: Date.UTC(2026, 10, 20, 9, 30, 0),
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Times are seconds since the start on the monotonic clock. */
  const start = (expression: string, timeZone = "UTC") => {
    const startedMs = performance.now();
    const rounds: { at: number; left: number }[] = [];
    const late: number[] = [];
    const elapsed = (): number => (performance.now() - startedMs) / second;
    const ticker: Ticker = createTicker(
      { kind: "cron", expression, timeZone },
      { clock: systemClock, log: { warn: () => void late.push(elapsed()) } },
    );
    ticker.start((leftMs) => {
      rounds.push({ at: elapsed(), left: leftMs / second });
    });
    return { ticker, rounds, late, at: () => rounds.map(({ at }) => at) };
  };

  it("starts a round at each of the schedule's moments and reports how long it lasts", async () => {
    const { ticker, rounds, late } = start("*/30 * * * * *");
    await vi.advanceTimersByTimeAsync(95 * second);
    expect(ticker.intervalMs).toBe(30 * second);
    expect(rounds).toEqual([
      { at: 30, left: 30 },
      { at: 60, left: 30 },
      { at: 90, left: 30 },
    ]);
    expect(late).toEqual([]);
    ticker.stop();
  });

  it.each([
    ["ten seconds back", -10 * second],
    ["an hour back", -hour],
    ["a day back", -24 * hour],
    ["ten seconds forward", 10 * second],
    ["an hour and some forward", hour + 17 * second],
  ])("continues when the wall clock is set %s, and logs it", async (_, stepMs) => {
    const { ticker, rounds, late, at } = start("*/30 * * * * *");
    await vi.advanceTimersByTimeAsync(65 * second);
    expect(at()).toEqual([30, 60]);
    vi.setSystemTime(Date.now() + stepMs);
    await vi.advanceTimersByTimeAsync(26 * second + 1);
    // Expected at 90 s; a forward step may have brought it earlier.
    const third = rounds[2];
    expect(third?.at).toBeLessThanOrEqual(91);
    const logged = late.length;
    await vi.advanceTimersByTimeAsync(3 * minute);
    const gaps = at().map((each, index) => each - (at()[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(31);
    // Once it is back in step with the wall clock, nothing is late any more.
    expect(late.length).toBe(logged);
    expect(rounds.slice(-3).every(({ left }) => left === 30)).toBe(true);
    expect(logged).toBeGreaterThanOrEqual(stepMs < 0 ? 1 : 0);
    ticker.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["America/New_York", "2026-11-01T05:59:35Z"],
    ["America/New_York", "2026-03-08T06:59:35Z"],
    ["Australia/Lord_Howe", "2026-04-04T14:59:35Z"],
  ])("goes on where clocks are changed, whatever the machine's zone: %s", async (zone, from) => {
    const saved = process.env["TZ"];
    onTestFinished(() => {
      if (saved === undefined) delete process.env["TZ"];
      else process.env["TZ"] = saved;
    });
    for (const machineZone of [zone, "UTC"]) {
      process.env["TZ"] = machineZone;
      vi.setSystemTime(Date.parse(from));
      const { ticker, late, at } = start("*/30 * * * * *", zone);
      await vi.advanceTimersByTimeAsync(3 * minute);
      expect(at()).toEqual(Array.from({ length: 6 }, (_, index) => 25 + index * 30));
      expect(late).toEqual([]);
      ticker.stop();
    }
  });

  it("leaves no timer when stopped within a round", async () => {
    const inRound = createTicker(
      { kind: "cron", expression: "*/10 * * * * *", timeZone: "UTC" },
      { clock: systemClock, log: unexpected },
    );
    inRound.start(() => inRound.stop());
    await vi.advanceTimersByTimeAsync(10 * second);
    expect(vi.getTimerCount()).toBe(0);
  });
});

const unexpected = {
  warn(): never {
    throw new Error("the schedule was never late");
  },
};

describe("the first round in which targets have runs", () => {
  const firstAfter = (startsAt: string): number =>
    createTicker(
      { kind: "cron", expression: "0,20,40 */2 * * *", timeZone: "UTC" },
      { clock: createFakeClock(Date.parse(startsAt)), log: unexpected },
    ).firstRoundMs;

  it("is the next one, or where that is passed over the one after it, however long the schedule pauses", () => {
    expect(firstAfter("2026-03-08T05:00:00Z")).toBe(60 * minute);
    expect(firstAfter("2026-03-08T04:05:00Z")).toBe(20 * minute);
    expect(firstAfter("2026-03-08T04:35:00Z")).toBe(85 * minute);
  });
});
