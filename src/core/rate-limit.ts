export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/**
 * Requests travel for unequal times, so two that leave exactly one period apart can arrive closer.
 * Each token comes back this much later than the limit asks for.
 */
const safetyMargin = 1.05;

/** Tells when calls may leave. Times are milliseconds on the monotonic clock. */
export interface TokenBucket {
  /** The earliest moment at which one more call may leave; in the past when it may leave now. */
  readonly nextFreeMs: number;
  /** Takes the next token for a call that leaves at `max(nowMs, nextFreeMs)`, which is returned. */
  take(nowMs: number): number;
}

/**
 * A bucket of tokens, each given back a full period after its call left: in no window of that
 * length do more calls leave than there are tokens. (A bucket that refills steadily would let
 * nearly twice as many through after a pause.)
 */
export function createTokenBucket({ requests, perMs }: RateLimit): TokenBucket {
  /** Of the tokens taken so far: a limit may be far beyond what is ever sent. */
  const backAtMs: number[] = [];
  let oldest = 0;
  const nextFreeMs = (): number => backAtMs[oldest] ?? Number.NEGATIVE_INFINITY;
  return {
    get nextFreeMs() {
      return nextFreeMs();
    },
    take(nowMs) {
      const leavesAtMs = Math.max(nowMs, nextFreeMs());
      backAtMs[oldest] = leavesAtMs + perMs * safetyMargin;
      oldest = (oldest + 1) % requests;
      return leavesAtMs;
    },
  };
}
