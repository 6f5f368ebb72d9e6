import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { createTokenBucket, safetyMargin } from "../lib/rate-limit.ts";
import type { RateLimit, TokenBucket } from "../lib/rate-limit.ts";
import type { RetryBudget } from "../lib/retry.ts";
import { delay } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";

/** A call may leave at once. Its token comes back a period after it was sent, so sending must be reported. */
export interface Granted {
  readonly kind: "granted";
  /** The request is being sent. */
  readonly sent: () => void;
  /** Takes another token for sending the request again, if one is free now. */
  readonly resend: () => boolean;
  /** The call is over. Must be called in the end, whether it was sent or not. */
  readonly ended: () => void;
}

export type Admission = Granted | { readonly kind: "too_late" } | { readonly kind: "stopped" };

/** The calls of a key that wait for one of its tokens, in their order. */
interface KeyQueue {
  readonly bucket: TokenBucket;
  readonly waiting: WaitingCall[];
  /** Calls that schedules make in a period of the limit. */
  scheduled: number;
  /** For retries, of what these leave of the limit; null: nothing. */
  retries: TokenBucket | null;
}

interface WaitingCall {
  /** Makes it check again whether it may leave. */
  wake: () => void;
}

/** The rate limits of all keys, for every call made with one: polls, retries, probes and look-ups. */
export class KeyLimits {
  private readonly clock: Clock;
  private readonly limit: RateLimit;
  private readonly queues = new Map<string, KeyQueue>();
  /** By target. */
  private readonly pausedUntilMs = new Map<string, number>();
  /** By target: calls that are admitted one by one. Only the first waits for a token; then the next one does. */
  private readonly oneByOne = new Map<string, WaitingCall[]>();

  constructor(clock: Clock, limit: RateLimit) {
    this.clock = clock;
    this.limit = limit;
  }

  /**
   * Calls are made with the key of a target at this distance. Retries leave as much of the limit as these need: otherwise
   * those of a region that fails would keep the polls of others waiting until they are too late.
   */
  schedule(target: Target, everyMs: number): void {
    const queue = this.queueOf(target);
    queue.scheduled += (this.limit.perMs * safetyMargin) / everyMs;
    queue.retries = bucketOf(this.limit, retryShare * (this.limit.requests - queue.scheduled));
  }

  /**
   * Waits for the key's next token, first come, first served. Too late: none comes before the deadline
   * (monotonic milliseconds), and none was taken.
   *
   * @param order `one_by_one`: of the calls of a target that are admitted like this, only the first waits
   *   for a token. However many probes a target has, a poll waits for one of them at most.
   */
  async admit(
    target: Target,
    deadlineMs: number,
    signal: AbortSignal,
    order?: "one_by_one",
  ): Promise<Admission> {
    const call: WaitingCall = { wake() {} };
    if (order === undefined) return this.waitForToken(target, deadlineMs, signal, null, call);
    const name = targetName(target);
    const peers = this.oneByOne.get(name) ?? [];
    this.oneByOne.set(name, peers);
    peers.push(call);
    return this.waitForToken(target, deadlineMs, signal, peers, call).finally(() =>
      leave(peers, call),
    );
  }

  /** The same for a retry. Too late: what is scheduled needs the limit. */
  async admitRetry(...call: Parameters<KeyLimits["admit"]>): Promise<Admission> {
    return this.takeRetry(call[0], this.nowMs()) ? this.admit(...call) : { kind: "too_late" };
  }

  /** Takes a token if one is free now. */
  admitNow(target: Target): Granted | null {
    const atMs = this.nowMs();
    return this.freeAtMs(target, atMs) > atMs ? null : this.grant(target, atMs);
  }

  /** When the next call may leave, as far as is known, monotonic milliseconds: now or later. */
  nextFreeMs(target: Target): number {
    return this.freeAtMs(target, this.nowMs());
  }

  /** The service sent `Retry-After` for this key in this region: nothing is sent until then. */
  pause(target: Target, untilMs: number): void {
    const name = targetName(target);
    this.pausedUntilMs.set(name, Math.max(untilMs, this.pausedUntilMs.get(name) ?? untilMs));
  }

  private nowMs(): number {
    return this.clock.now().monotonicMs;
  }

  private queueOf({ key }: Target): KeyQueue {
    const queue = this.queues.get(key) ?? {
      bucket: createTokenBucket(this.limit),
      waiting: [],
      scheduled: 0,
      retries: createTokenBucket(this.limit),
    };
    this.queues.set(key, queue);
    return queue;
  }

  private pauseEndOf(target: Target): number {
    return this.pausedUntilMs.get(targetName(target)) ?? Number.NEGATIVE_INFINITY;
  }

  private freeAtMs(target: Target, atMs: number): number {
    const { bucket, waiting } = this.queueOf(target);
    return Math.max(this.pauseEndOf(target), bucket.freeAtMs(atMs, waiting.length));
  }

  private takeRetry(target: Target, atMs: number): boolean {
    const { retries } = this.queueOf(target);
    if (retries === null || retries.freeAtMs(atMs) > atMs) return false;
    retries.take(atMs).ended();
    return true;
  }

  private grant(target: Target, atMs: number): Granted {
    const { bucket, waiting } = this.queueOf(target);
    let token = bucket.take(atMs);
    let isSent = false;
    const ended = (): void => {
      token.ended();
      // The token of a call that was never sent comes back sooner.
      if (!isSent) wakeAll(waiting);
    };
    return {
      kind: "granted",
      sent: () => {
        isSent = true;
        token.sent(this.nowMs());
      },
      resend: () => {
        const againMs = this.nowMs();
        if (this.freeAtMs(target, againMs) > againMs || !this.takeRetry(target, againMs))
          return false;
        ended();
        token = bucket.take(againMs);
        isSent = false;
        return true;
      },
      ended,
    };
  }

  private async waitForToken(
    target: Target,
    deadlineMs: number,
    signal: AbortSignal,
    peers: readonly WaitingCall[] | null,
    call: WaitingCall,
  ): Promise<Admission> {
    const { bucket, waiting } = this.queueOf(target);
    const sleep = (ms: number): Promise<void> => {
      const woken = new AbortController();
      call.wake = () => woken.abort();
      return delay(this.clock, ms, woken.signal);
    };
    const stop = (): void => call.wake();
    signal.addEventListener("abort", stop);
    try {
      while (!signal.aborted) {
        const atMs = this.nowMs();
        if (peers && peers[0] !== call) {
          if (atMs >= deadlineMs) return { kind: "too_late" };
          await sleep(deadlineMs - atMs);
          continue;
        }
        const pauseEndMs = this.pauseEndOf(target);
        const place = waiting.indexOf(call);
        const freeMs = bucket.freeAtMs(atMs, place < 0 ? waiting.length : place);
        if (Math.max(atMs, pauseEndMs, freeMs) > deadlineMs) return { kind: "too_late" };
        if (pauseEndMs > atMs) {
          // A call that waits for the end of a pause holds up no call to the key's other regions.
          leave(waiting, call);
          await sleep(pauseEndMs - atMs);
        } else if (freeMs > atMs) {
          if (place < 0) waiting.push(call);
          await sleep(freeMs - atMs);
        } else {
          // The calls behind it cannot start earlier because of this, so they are not woken.
          if (place >= 0) waiting.splice(place, 1);
          return this.grant(target, atMs);
        }
      }
      return { kind: "stopped" };
    } finally {
      signal.removeEventListener("abort", stop);
      leave(waiting, call);
    }
  }
}

/** Of what scheduled calls leave. With all of it, these would wait ever longer for one another. */
const retryShare = 1 / 2;

/** @param requests in each period of the limit; a part of one is one in a longer period */
function bucketOf({ perMs }: RateLimit, requests: number): TokenBucket | null {
  if (requests <= 0) return null;
  return requests < 1
    ? createTokenBucket({ requests: 1, perMs: perMs / requests })
    : createTokenBucket({ requests: Math.floor(requests), perMs });
}

/** Removes a call that gets no token; the calls behind it move up. */
function leave(waiting: WaitingCall[], call: WaitingCall): void {
  const place = waiting.indexOf(call);
  if (place < 0) return;
  waiting.splice(place, 1);
  wakeAll(waiting);
}

function wakeAll(waiting: readonly WaitingCall[]): void {
  for (const { wake } of waiting) wake();
}

/**
 * Whether a request may be sent again at once because its kept connection turned out dead: it is one more
 * request within the key's limit, and a retry within the budget. Without a budget it may not.
 */
export function mayResend({ resend }: Granted, budget: RetryBudget | undefined): boolean {
  if (!budget?.hasRetry || !resend()) return false;
  budget.requestSent();
  return budget.takeRetry();
}
