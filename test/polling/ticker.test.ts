import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createTicker } from "../../src/polling/ticker.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const unexpected = {
  warn(): never {
    throw new Error("the schedule was never late");
  },
};

it.each<[string, (timer: number) => number, number, readonly (readonly number[])[]]>([
  [
    "does not let the lateness of its timers add up, and reports what is left of a round",
    () => 0.7,
    31,
    [
      [0, 10],
      [10.7, 9.3],
      [20.7, 9.3],
      [30.7, 9.3],
    ],
  ],
  [
    "leaves out rounds that were slept through and falls back into step",
    (timer) => (timer === 0 ? 25 : 0),
    60,
    [
      [0, 10],
      [35, 5],
      [40, 10],
      [50, 10],
      [60, 10],
    ],
  ],
])("a ticker of every ten seconds %s", (_, lateSeconds, seconds, expected) => {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  const rounds: number[][] = [];
  let timers = 0;
  const late = {
    ...clock,
    setTimer: (delayMs: number, call: () => void) =>
      clock.setTimer(delayMs + lateSeconds(timers++) * second, call),
  };
  const schedule = { kind: "every", ms: 10 * second } as const;
  createTicker(schedule, { clock: late, log: unexpected }).start((leftMs) => {
    rounds.push([clock.now().monotonicMs - startedMs, leftMs].map((ms) => ms / second));
  });
  clock.advance(seconds * second);
  expect(rounds).toEqual(expected);
});

describe("a ticker of a cron expression", () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "Date", "performance"],
      now: Date.UTC(2026, 10, 20, 9, 30, 0),
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** One of every 30 seconds. Times are seconds since the start on the monotonic clock. */
  const start = (timeZone = "UTC") => {
    const startedMs = performance.now();
    const rounds: { at: number; left: number }[] = [];
    const late: number[] = [];
    const elapsed = (): number => (performance.now() - startedMs) / second;
    const ticker = createTicker(
      { kind: "cron", expression: "*/30 * * * * *", timeZone },
      { clock: systemClock, log: { warn: () => void late.push(elapsed()) } },
    );
    ticker.start((leftMs) => void rounds.push({ at: elapsed(), left: leftMs / second }));
    return { ticker, rounds, late, at: () => rounds.map(({ at }) => at) };
  };

  it.each([
    ["stays as it is", 0],
    ["is set ten seconds back", -10 * second],
    ["is set an hour back", -hour],
    ["is set a day back", -24 * hour],
    ["is set ten seconds forward", 10 * second],
    ["is set an hour and some forward", hour + 17 * second],
  ])("continues when the wall clock %s, and logs it", async (_, stepMs) => {
    const { ticker, rounds, late, at } = start();
    await vi.advanceTimersByTimeAsync(65 * second);
    expect(rounds).toEqual([
      { at: 30, left: 30 },
      { at: 60, left: 30 },
    ]);
    vi.setSystemTime(Date.now() + stepMs);
    await vi.advanceTimersByTimeAsync(26 * second + 1);
    // Expected at 90 s; a forward step may have brought it earlier.
    expect(rounds[2]?.at).toBeLessThanOrEqual(91);
    const logged = late.length;
    await vi.advanceTimersByTimeAsync(3 * minute);
    const gaps = at().map((each, index) => each - (at()[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(31);
    // Once it is back in step with the wall clock, nothing is late any more.
    expect(late.length).toBe(logged);
    expect(rounds.slice(-3).every(({ left }) => left === 30)).toBe(true);
    expect(logged > 0).toBeOneOf(stepMs > 0 ? [true, false] : [stepMs < 0]);
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
      const { ticker, late, at } = start(zone);
      await vi.advanceTimersByTimeAsync(3 * minute);
      expect([at(), late]).toEqual([[25, 55, 85, 115, 145, 175], []]);
      ticker.stop();
    }
  });

  it("leaves no timer when stopped within a round", async () => {
    const schedule = { kind: "cron", expression: "*/10 * * * * *", timeZone: "UTC" } as const;
    const ticker = createTicker(schedule, { clock: systemClock, log: unexpected });
    ticker.start(() => ticker.stop());
    await vi.advanceTimersByTimeAsync(10 * second);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it.each([
  ["2026-03-08T05:00:00Z", 60],
  ["2026-03-08T04:05:00Z", 20],
  ["2026-03-08T04:35:00Z", 85],
])(
  "the first round in which targets have runs is the next one, or where that is passed over the one after it: from %s in %d minutes",
  (startsAt, minutes) => {
    const schedule = { kind: "cron", expression: "0,20,40 */2 * * *", timeZone: "UTC" } as const;
    const clock = createFakeClock(Date.parse(startsAt));
    const ticker = createTicker(schedule, { clock, log: unexpected });
    expect(ticker.firstRoundMs()).toBe(minutes * minute);
  },
);
