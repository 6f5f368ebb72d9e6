import type { Instant } from "../../src/fleet/model.ts";
import type { Clock } from "../../src/lib/clock.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until `advance`; `stepUtc` moves the wall clock alone. */
export interface FakeClock extends Clock {
  /** Moves both clocks on, firing the timers that fall due, in order. */
  advance(ms: number): void;
  /** Moves both clocks on while no timer can fire, as if the process were held up. */
  holdUp(ms: number): void;
  /** Steps the wall clock, as an administrator would; the monotonic clock does not notice. */
  stepUtc(ms: number): void;
  /** How many timers are armed: a test that ends with one left open has a leak. */
  readonly armed: number;
}

export function createFakeClock(start: number = Date.UTC(2026, 10, 20, 9, 30)): FakeClock {
  let utcMs = start;
  let monotonicMs = 1_000;
  let order = 0;
  const timers = new Set<PendingTimer>();

  const nextTimer = (untilMs: number): PendingTimer | undefined => {
    let next: PendingTimer | undefined;
    for (const timer of timers) {
      if (timer.dueMs > untilMs) continue;
      if (
        !next ||
        timer.dueMs < next.dueMs ||
        (timer.dueMs === next.dueMs && timer.order < next.order)
      ) {
        next = timer;
      }
    }
    return next;
  };

  return {
    now: (): Instant => ({ utcMs, monotonicMs }),
    setTimer(delayMs, callback) {
      const timer = { dueMs: monotonicMs + Math.max(0, delayMs), order: order++, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const untilMs = monotonicMs + ms;
      for (let timer = nextTimer(untilMs); timer; timer = nextTimer(untilMs)) {
        timers.delete(timer);
        const passedMs = Math.max(0, timer.dueMs - monotonicMs);
        utcMs += passedMs;
        monotonicMs += passedMs;
        timer.callback();
      }
      utcMs += untilMs - monotonicMs;
      monotonicMs = untilMs;
    },
    holdUp(ms) {
      utcMs += ms;
      monotonicMs += ms;
    },
    stepUtc(ms) {
      utcMs += ms;
    },
    get armed() {
      return timers.size;
    },
  };
}
