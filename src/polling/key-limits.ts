import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { createTokenBucket } from "../core/rate-limit.ts";
import type { RateLimit, TokenBucket } from "../core/rate-limit.ts";
import { delay } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";

/** A call may leave at once. Its token comes back some time after it was sent, so that must be told. */
export interface Granted {
  readonly kind: "granted";
  /** The request is being sent. */
  readonly sent: () => void;
  /** The call is over, or is made elsewhere. Must come sooner or later, whether it was sent or not. */
  readonly ended: () => void;
}

export type Admission = Granted | { readonly kind: "too_late" } | { readonly kind: "stopped" };

/** Every call that is made with a key asks here first: polls, retries, probes and look-ups. */
export interface KeyLimits {
  /**
   * Waits for the key's next token, first come, first served. Too late: there is none before the
   * deadline (monotonic milliseconds), and none was taken.
   */
  admit(target: Target, deadlineMs: number, signal: AbortSignal): Promise<Admission>;
  /** Takes a token if there is one this very moment. */
  admitNow(target: Target): Granted | null;
  /** When the next call may leave, as far as is known, monotonic milliseconds: now or later. */
  nextFreeMs(target: Target): number;
  /** The service asked for patience with this key in this region: nothing is sent until then. */
  pause(target: Target, untilMs: number): void;
}

/** The calls of a key that wait for one of its tokens, in their order. */
interface Line {
  readonly bucket: TokenBucket;
  readonly waiting: Waiting[];
}

interface Waiting {
  /** Has it look again when it may leave. */
  wake: () => void;
}

export function createKeyLimits(clock: Clock, limit: RateLimit): KeyLimits {
  const lines = new Map<string, Line>();
  const pausedUntilMs = new Map<string, number>();

  const lineOf = ({ key }: Target): Line => {
    let line = lines.get(key);
    if (!line) lines.set(key, (line = { bucket: createTokenBucket(limit), waiting: [] }));
    return line;
  };

  const resumptionOf = (target: Target): number =>
    pausedUntilMs.get(targetName(target)) ?? Number.NEGATIVE_INFINITY;

  const freeAtMs = (target: Target, nowMs: number): number => {
    const { bucket, waiting } = lineOf(target);
    return Math.max(resumptionOf(target), bucket.freeAtMs(nowMs, waiting.length));
  };

  const grant = (line: Line, nowMs: number): Granted => {
    const token = line.bucket.take(nowMs);
    let isSent = false;
    return {
      kind: "granted",
      sent() {
        isSent = true;
        token.sent(clock.now().monotonicMs);
      },
      ended() {
        token.ended();
        if (!isSent) moveUp(line);
      },
    };
  };

  const admitAt = (target: Target, nowMs: number): Granted | null =>
    freeAtMs(target, nowMs) > nowMs ? null : grant(lineOf(target), nowMs);

  return {
    nextFreeMs: (target) => freeAtMs(target, clock.now().monotonicMs),
    async admit(target, deadlineMs, signal) {
      const line = lineOf(target);
      const { bucket, waiting } = line;
      const startedMs = clock.now().monotonicMs;
      const mayLeave = startedMs <= deadlineMs && waiting.length === 0 && !signal.aborted;
      const granted = mayLeave ? admitAt(target, startedMs) : null;
      if (granted) return granted;
      const call: Waiting = { wake() {} };
      const sleep = (ms: number): Promise<void> => {
        const woken = new AbortController();
        call.wake = () => woken.abort();
        return delay(clock, ms, woken.signal);
      };
      const stop = (): void => call.wake();
      signal.addEventListener("abort", stop);
      try {
        while (!signal.aborted) {
          const nowMs = clock.now().monotonicMs;
          const resumesMs = resumptionOf(target);
          const place = waiting.indexOf(call);
          const freeMs = bucket.freeAtMs(nowMs, place < 0 ? waiting.length : place);
          if (Math.max(resumesMs, freeMs) > deadlineMs) return { kind: "too_late" };
          if (resumesMs > nowMs) {
            // Who waits for the end of a pause holds up no call to the key's other regions.
            leave(line, call);
            await sleep(resumesMs - nowMs);
          } else if (freeMs > nowMs) {
            if (place < 0) waiting.push(call);
            await sleep(freeMs - nowMs);
          } else {
            // None of those behind it may leave any earlier for that.
            if (place >= 0) waiting.splice(place, 1);
            return grant(line, nowMs);
          }
        }
        return { kind: "stopped" };
      } finally {
        signal.removeEventListener("abort", stop);
        leave(line, call);
      }
    },
    admitNow: (target) => admitAt(target, clock.now().monotonicMs),
    pause(target, untilMs) {
      const name = targetName(target);
      pausedUntilMs.set(name, Math.max(untilMs, pausedUntilMs.get(name) ?? untilMs));
    },
  };
}

/** Whoever leaves without a token lets those behind it move up. */
function leave(line: Line, call: Waiting): void {
  const place = line.waiting.indexOf(call);
  if (place < 0) return;
  line.waiting.splice(place, 1);
  moveUp(line);
}

function moveUp(line: Line): void {
  for (const { wake } of line.waiting) wake();
}
