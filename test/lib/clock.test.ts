import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { delay, systemClock } from "../../src/lib/clock.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const longestTimerMs = 2 ** 31 - 1;

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
  it("ends when its time has passed on the clock, not before", async () => {
    const clock = createFakeClock();
    const waiting = delay(clock, 1_000);
    clock.advance(999);
    expect(await isSettled(waiting)).toBe(false);
    clock.advance(1);
    expect(await isSettled(waiting)).toBe(true);
  });

  it("does not notice a step of the wall clock", async () => {
    const clock = createFakeClock();
    const waiting = delay(clock, 1_000);
    clock.stepUtc(3_600_000);
    clock.advance(999);
    expect(await isSettled(waiting)).toBe(false);
    clock.stepUtc(-7_200_000);
    clock.advance(1);
    expect(await isSettled(waiting)).toBe(true);
  });

  it("ends at once when it is aborted, and leaves no timer behind", async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const waiting = delay(clock, 1_000, abort.signal);
    expect(clock.armed).toBe(1);
    abort.abort();
    expect(await isSettled(waiting)).toBe(true);
    expect(clock.armed).toBe(0);
  });

  it("does not begin when it was aborted before", async () => {
    const clock = createFakeClock();
    expect(await isSettled(delay(clock, 1_000, AbortSignal.abort()))).toBe(true);
    expect(clock.armed).toBe(0);
  });

  it("leaves nothing on a signal that outlives it", async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const waiting = delay(clock, 1_000, abort.signal);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
    clock.advance(1_000);
    await waiting;
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  });
});

describe("the system's clock", () => {
  beforeEach(() => {
    vi.useFakeTimers({
      now: Date.UTC(2026, 10, 20),
      toFake: ["setTimeout", "clearTimeout", "Date"],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("calls back once, after the delay", () => {
    const callback = vi.fn<() => void>();
    systemClock.setTimer(1_000, callback);
    vi.advanceTimersByTime(999);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5_000);
    expect(callback).toHaveBeenCalledOnce();
  });

  it("does not call back once cancelled", () => {
    const callback = vi.fn<() => void>();
    const cancel = systemClock.setTimer(1_000, callback);
    cancel();
    vi.advanceTimersByTime(5_000);
    expect(callback).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits longer than a timer of Node.js can, and can be cancelled in the middle", () => {
    const callback = vi.fn<() => void>();
    const cancelled = vi.fn<() => void>();
    systemClock.setTimer(longestTimerMs + 1_000, callback);
    const cancel = systemClock.setTimer(longestTimerMs + 1_000, cancelled);
    vi.advanceTimersByTime(longestTimerMs + 500);
    cancel();
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(500);
    expect(callback).toHaveBeenCalledOnce();
    expect(cancelled).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("takes a delay that is over for one of zero", () => {
    const callback = vi.fn<() => void>();
    systemClock.setTimer(-5, callback);
    vi.advanceTimersByTime(0);
    expect(callback).toHaveBeenCalledOnce();
  });

  it("tells the time in UTC, and beside it one that does not follow its steps", () => {
    const before = systemClock.now();
    vi.setSystemTime(Date.UTC(2020, 0, 1));
    const after = systemClock.now();
    expect([before.utcMs, after.utcMs]).toEqual([Date.UTC(2026, 10, 20), Date.UTC(2020, 0, 1)]);
    expect(after.monotonicMs).toBeGreaterThanOrEqual(before.monotonicMs);
  });
});
