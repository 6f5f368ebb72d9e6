export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** Requests travel for unequal times: two that are sent exactly one period apart can arrive closer. */
export const safetyMargin = 1.05;

/** A call that takes longer to connect may never succeed, and holds the others of its key back no more. */
const longestOpeningMs = 2_000;

/** Identifies a call that was sent. */
export type Token = ReturnType<TokenBucket["take"]>;

export type TokenBucket = ReturnType<typeof createTokenBucket>;

interface Call {
  readonly leftMs: number;
  sentMs: number | null;
  hasEnded: boolean;
}

/**
 * A bucket of tokens that says when calls may leave. Times are milliseconds on the monotonic clock. Each
 * token is given back a full period after its call was sent: in no window of that
 * length are more calls sent than there are tokens. (A bucket that refills steadily would let
 * nearly twice as many through after a pause.)
 */
export function createTokenBucket({ requests, perMs }: RateLimit) {
  const periodMs = perMs * safetyMargin;
  /** Calls whose tokens are not returned yet. A set, as a limit may be far higher than what is ever sent. */
  const calls = new Set<Call>();

  const backAtMs = (nowMs: number): readonly number[] => {
    const times: number[] = [];
    for (const call of calls) {
      const backMs = countsFromMs(call, nowMs) + periodMs;
      if (backMs > nowMs) times.push(backMs);
      else calls.delete(call);
    }
    return times.toSorted((a, b) => a - b);
  };

  return {
    /**
     * When one more call may leave, after the calls that still wait: `nowMs` or later. It will be later
     * than that where calls that have left are yet to be sent.
     */
    freeAtMs(nowMs: number, waiting = 0): number {
      const times = backAtMs(nowMs);
      const firstMs = times[times.length - requests + (waiting % requests)] ?? nowMs;
      return firstMs + Math.floor(waiting / requests) * periodMs;
    },
    /** Takes a token for a call that leaves now, which it may. */
    take(nowMs: number) {
      const call: Call = { leftMs: nowMs, sentMs: null, hasEnded: false };
      calls.add(call);
      return {
        /** The call is sent now: it may have opened its connection first. */
        sent(sentMs: number): void {
          call.sentMs = sentMs;
          // Sent so late that its token was back already.
          calls.add(call);
        },
        /** The call is over. One that was never sent counts as if it had been when it left. */
        ended(): void {
          call.hasEnded = true;
        },
      };
    },
  };
}

function countsFromMs({ leftMs, sentMs, hasEnded }: Call, nowMs: number): number {
  if (sentMs !== null) return sentMs;
  return hasEnded ? leftMs : Math.min(nowMs, leftMs + longestOpeningMs);
}
