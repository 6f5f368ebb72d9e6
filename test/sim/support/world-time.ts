import { isDecoding } from "./decoders.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** The one time of a simulated world. All of it is whole milliseconds. */
export interface WorldTime {
  /** Since the world began; passes evenly. */
  readonly nowMs: number;
  /** What every wall clock shows. */
  readonly utcMs: number;
  /** How many moments there were: between two of them everything comes to rest. */
  readonly moment: number;
  /** When each of them was due; one that had to wait for the process came later. */
  readonly dueMs: readonly number[];
  setTimer(delayMs: number, callback: () => void): () => void;
  /** Goes on to the next timer and fires it; false when there is none up to then. */
  jump(untilMs: number): boolean;
  /** Time passes while the process is held up: no timer fires. */
  stall(ms: number): void;
  stepWallClock(ms: number): void;
}

export function createWorldTime(startUtcMs: number): WorldTime {
  let nowMs = 0;
  let offsetMs = startUtcMs;
  let order = 0;
  let moment = 0;
  const due: number[] = [0];
  const timers = new Set<Timer>();

  const earliest = (): Timer | undefined => {
    let found: Timer | undefined;
    for (const timer of timers) {
      if (!found || timer.dueMs < found.dueMs) found = timer;
      else if (timer.dueMs === found.dueMs && timer.order < found.order) found = timer;
    }
    return found;
  };

  return {
    get nowMs() {
      return nowMs;
    },
    get utcMs() {
      return nowMs + offsetMs;
    },
    get moment() {
      return moment;
    },
    dueMs: due,
    setTimer(delayMs, callback) {
      const dueMs = nowMs + Math.ceil(Math.max(0, delayMs));
      const timer = { dueMs, order: order++, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    jump(untilMs) {
      const timer = earliest();
      if (!timer || timer.dueMs > untilMs) {
        nowMs = Math.max(nowMs, untilMs);
        return false;
      }
      timers.delete(timer);
      nowMs = Math.max(nowMs, timer.dueMs);
      moment += 1;
      due.push(timer.dueMs);
      timer.callback();
      return true;
    },
    stall: (ms) => void (nowMs += ms),
    stepWallClock: (ms) => void (offsetMs += ms),
  };
}

/**
 * Resolves when nothing more happens without time going on: nothing here waits for real input or
 * output, so what is left are promises, ticks and immediates.
 */
export async function comeToRest(): Promise<void> {
  do {
    await new Promise<void>((resolve) => void setImmediate(resolve));
  } while (isDecoding() || process.getActiveResourcesInfo().includes("Immediate"));
}
