import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { delay, systemClock } from "../../src/lib/clock.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** Whether a promise has settled by now, without waiting for it. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => void (settled = true);
  void promise.then(settle, settle);
  await Promise.resolve();
  await Promise.resolve();
  return settled;
}

describe("a delay", () => {
  it("ends when its time has passed on the monotonic clock, whatever the wall clock does", async () => {
    const clock = createFakeClock();
    const waiting = delay(clock, 1_000);
    clock.stepUtc(3_600_000);
    clock.advance(999);
    expect(await isSettled(waiting)).toBe(false);
    clock.stepUtc(-7_200_000);
    clock.advance(1);
    expect(await isSettled(waiting)).toBe(true);
  });

  it("ends at once when it is aborted, also before, and leaves no timer behind", async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const waiting = delay(clock, 1_000, abort.signal);
    expect(clock.armed).toBe(1);
    abort.abort();
    expect(await isSettled(waiting)).toBe(true);
    expect(await isSettled(delay(clock, 1_000, abort.signal))).toBe(true);
    expect(clock.armed).toBe(0);
  });

  it("leaves nothing on a signal that outlives it", async () => {
    const clock = createFakeClock();
    const { signal } = new AbortController();
    const waiting = delay(clock, 1_000, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    clock.advance(1_000);
    await waiting;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("the system's clock", () => {
  const longestTimerMs = 2 ** 31 - 1;

  beforeEach(() => {
    const toFake = ["setTimeout", "clearTimeout", "Date"] as const;
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 20), toFake: [...toFake] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([-5, 1_000, longestTimerMs + 1_000])("calls back once, after %d ms", (delayMs) => {
    const callback = vi.fn<() => void>();
    systemClock.setTimer(delayMs, callback);
    vi.advanceTimersByTime(Math.max(0, delayMs - 1));
    expect(callback).toHaveBeenCalledTimes(delayMs < 0 ? 1 : 0);
    vi.advanceTimersByTime(5_000);
    expect(callback).toHaveBeenCalledOnce();
  });

  it("can be cancelled, also in the middle of a wait that no timer of Node.js can be", () => {
    const callback = vi.fn<() => void>();
    const cancel = systemClock.setTimer(longestTimerMs + 1_000, callback);
    vi.advanceTimersByTime(longestTimerMs + 500);
    cancel();
    vi.advanceTimersByTime(5_000);
    expect(callback).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives the time in UTC, and one that does not follow its steps", () => {
    const before = systemClock.now();
    vi.setSystemTime(Date.UTC(2020, 0, 1));
    const after = systemClock.now();
    expect([before.utcMs, after.utcMs]).toEqual([Date.UTC(2026, 10, 20), Date.UTC(2020, 0, 1)]);
    expect(after.monotonicMs).toBeGreaterThanOrEqual(before.monotonicMs);
  });
});
