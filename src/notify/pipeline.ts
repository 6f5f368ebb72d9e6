import { earliestDueMs } from "../alerts/grouping.ts";
import type { Notification } from "../alerts/notification.ts";
import type { Random } from "../lib/random.ts";
import { composeDue, type ComposeSettings } from "./compose.ts";
import type { DueNotification, Outbox } from "./outbox-interface.ts";
import { failed, type AttemptFailure, type Receiver } from "./receiver.ts";
import { createRecorder, unreadableAttempt } from "./record-attempts.ts";
import type { EndedAttempt, RecorderDeps } from "./record-attempts.ts";
import { decide, timeBounds } from "./retry.ts";
import { createStoreRetries } from "./store-retries.ts";

export interface DeliveryReceiver extends ComposeSettings {
  readonly receiver: Receiver;
  /** Whether it is notified when an incident resolves. Default: true. */
  readonly sendResolved?: boolean;
}

export interface WorkerDeps extends RecorderDeps {
  readonly outbox: Outbox;
  /** Whole milliseconds of a clock that is not affected by steps of the wall clock. */
  readonly deliveryClock: () => number;
  readonly random: Random;
  /** Whether this process may deliver now. Default: always. */
  readonly mayAct?: () => boolean;
  /** The worker of a receiver has looked at the outbox. */
  readonly onRun?: (receiver: string) => void;
}

const defaultInFlight = 4;

/**
 * While the store does not accept how attempts ended, further notifications are sent, but only this many: each of them
 * asks the store again and again.
 */
const mostUnsettled = 50;

/** A worker looks at the outbox at least this often, so that a hanging one can be distinguished from an idle one. */
export const lookEveryMs = 30_000;
/** How soon what is due is read again while this process may not act. */
const notHeldMs = 500;

/**
 * Delivers to one receiver. Workers share only the store: none waits for another.
 *
 * The stages of a notification, in order. Flapping, silences, acknowledgements and what the receiver wants are applied
 * when an observation is judged (`alerts/incident-engine.ts`): what they suppress never becomes an item of the outbox.
 * The stages from there on:
 *
 * 1. group: which items become one notification; wait: until `group_wait` and `group_interval` are over
 *    (`alerts/grouping.ts`)
 * 2. order: wait until earlier notifications about the same subject have ended (`Outbox.openItems`)
 * 3. compose: text and stable id, stored as pending (`alerts/compose-messages.ts`, `compose.ts`); for a receiver with a
 *    pause between messages, once the next one can be sent. What one step composes keeps its order, too (`Outbox.due`)
 * 4. pace: how many attempts at a time, and the pause that the receiver asked for
 * 5. send: one attempt (`receivers/`, `outbound.ts`)
 * 6. retry: delivered, tried again later, or dead-lettered (`retry.ts`)
 * 7. record: in the store, in metrics and in the log (`record-attempts.ts`)
 */
export function createDeliveryWorker(settings: DeliveryReceiver, deps: WorkerDeps) {
  const { outbox, clock, deliveryClock, mayAct = () => true } = deps;
  const { receiver } = settings;
  const { name, restMs = 0 } = receiver;
  const isPaced = restMs > 0;
  const mostInFlight = isPaced ? 1 : defaultInFlight;
  const stopped = new AbortController();
  const aborted = new AbortController();
  const untilStored = createStoreRetries(name, deps, stopped.signal);
  const recorder = createRecorder(name, deps);
  /** Attempts whose results are not stored yet, by sequence number. */
  const inFlight = new Map<number, Promise<unknown>>();
  let attempting = 0;
  let running: Promise<void> | null = null;
  let runAgain = false;
  let started = false;
  let tookOver = false;
  /** No attempt may begin before this moment of the delivery clock. */
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** When items are read again, on the delivery clock. Infinite: at the next `wake`. */
  let groupDueAtMs = deliveryClock();
  /** Whether items wait until a notification has ended. */
  let holdsItems = false;
  let cancelTimer = (): void => {};

  /** Stages 1 to 4; the others follow for each notification that begins. */
  const run = async (): Promise<void> => {
    cancelTimer();
    if (!tookOver) await takeOverStored();
    try {
      await compose();
    } finally {
      // What was composed before needs only to be read from the store.
      await beginDue();
    }
    if (started) await armTimer();
  };

  /** Takes over the notifications that an earlier process left pending. */
  const takeOverStored = async (): Promise<void> => {
    await outbox.boundTimes(name, timeBounds(deliveryClock(), settings.giveUpAfterMs));
    // They may have been stored while the receiver, and so `send_resolved`, was not configured.
    if (settings.sendResolved === false) await outbox.discardResolves(name);
    tookOver = true;
  };

  const compose = async (): Promise<void> => {
    if (groupDueAtMs > deliveryClock() || !(await canCompose())) return;
    // Cleared first: a wake while the items are composed sets it again.
    groupDueAtMs = Infinity;
    holdsItems = false;
    // If the store fails, everything is read again.
    let dueAtMs: number | null = deliveryClock();
    try {
      const most = isPaced ? 1 : Infinity;
      dueAtMs = await composeDue(name, settings, {
        ...deps,
        most,
        onStored: beginDue,
        signal: stopped.signal,
        onHeld: () => void (holdsItems = true),
      });
    } finally {
      groupDueAtMs = Math.min(groupDueAtMs, dueAtMs ?? Infinity);
    }
  };

  /**
   * What waits for a receiver that takes few messages is composed only when it can be sent: then it says how things are,
   * and items that waited together are one message.
   */
  const canCompose = async (): Promise<boolean> => {
    if (!isPaced) return true;
    if (freeSlots() <= 0 || deliveryClock() < pausedUntilMs) return false;
    const nextAtMs = await outbox.nextAttemptAtMs(name, [...inFlight.keys()]);
    return nextAtMs === null || nextAtMs > deliveryClock();
  };

  /** When items are read again, as far as no attempt is to end before that. */
  const composeAtMs = (): number => {
    if (!isPaced) return groupDueAtMs;
    return freeSlots() > 0 ? Math.max(groupDueAtMs, pausedUntilMs) : Infinity;
  };

  const beginDue = async (): Promise<void> => {
    const free = freeSlots();
    if (free <= 0 || deliveryClock() < pausedUntilMs) return;
    const due = await outbox.due(name, deliveryClock(), free, [...inFlight.keys()]);
    if (!stopped.signal.aborted && mayAct()) due.forEach(begin);
  };

  const freeSlots = (): number =>
    Math.min(mostInFlight - attempting, mostUnsettled - inFlight.size);

  const begin = (due: DueNotification): void => {
    const ended = deliver(due).finally(() => {
      inFlight.delete(due.seq);
      runSoon();
    });
    inFlight.set(due.seq, ended);
  };

  /** Stages 5 to 7. */
  const deliver = async (due: DueNotification): Promise<void> => {
    const ended = due.notification
      ? await attempt(due, due.notification)
      : unreadableAttempt(clock.now().utcMs);
    if (ended === null) return;
    const stored = await untilStored(() => recorder.store(due, ended), runSoon);
    if (stored) recorder.report(due, ended, stored.value);
    if (holdsItems && ended.decision.kind !== "retry") groupDueAtMs = deliveryClock();
  };

  /** Null: it was aborted. */
  const attempt = async (
    { attempts, giveUpAtMs, takenBy }: DueNotification,
    notification: Notification,
  ): Promise<EndedAttempt | null> => {
    attempting += 1;
    const result = await receiver
      .send(notification, aborted.signal, takenBy)
      .catch(unexpectedError);
    attempting -= 1;
    if (result.kind === "aborted") return null;
    const atMs = clock.now().utcMs;
    const nowMs = deliveryClock();
    // A rate limit applies to the receiver, not to one notification.
    const isLimited = result.kind === "failed" && result.reason === "rate_limited";
    const limitedForMs = isLimited ? (result.retryAfterMs ?? 0) : 0;
    pausedUntilMs = Math.max(pausedUntilMs, nowMs + Math.max(restMs, limitedForMs));
    if (result.kind === "delivered") {
      const { note } = result;
      return { atMs, failure: null, decision: result, ...(note !== undefined && { note }) };
    }
    const decision = decide(result, attempts + 1, { nowMs, giveUpAtMs }, deps.random);
    return { atMs, failure: result, decision, takenBy: result.takenBy ?? takenBy };
  };

  const armTimer = async (): Promise<void> => {
    let nextAtMs = Math.min(composeAtMs(), deliveryClock() + lookEveryMs);
    // Without a free slot, the end of an attempt wakes the worker.
    if (freeSlots() > 0) {
      const attemptAtMs = await outbox.nextAttemptAtMs(name, [...inFlight.keys()]);
      nextAtMs = Math.min(nextAtMs, Math.max(attemptAtMs ?? Infinity, pausedUntilMs));
    }
    if (stopped.signal.aborted) return;
    const leastMs = mayAct() ? 0 : notHeldMs;
    cancelTimer = clock.setTimer(Math.max(leastMs, nextAtMs - deliveryClock()), runSoon);
  };

  const runSoon = (): void => {
    runAgain = true;
    if (running === null && !stopped.signal.aborted) running = keepRunning();
  };

  const keepRunning = async (): Promise<void> => {
    while (runAgain && !stopped.signal.aborted) {
      runAgain = false;
      await untilStored(run);
      deps.onRun?.(name);
    }
    // No await between the check above and this line, or a call of `runSoon` in between would be lost.
    running = null;
  };

  return {
    /** From now on the worker wakes by itself when something is due. */
    start(): void {
      started = true;
      runSoon();
    },
    /**
     * There may be new items. They are read once they can be due, as there may be very many.
     *
     * @param causedAtMs none of them was caused before. UTC milliseconds
     */
    wake(causedAtMs: number): void {
      const { utcMs } = clock.now();
      const waitMs = earliestDueMs(causedAtMs, settings.groupWaitMs, utcMs) - utcMs;
      groupDueAtMs = Math.min(groupDueAtMs, deliveryClock() + Math.max(0, waitMs));
      runSoon();
    },
    /** Resolves when some of the work under way has ended; null: there is none. */
    underWay: (): Promise<unknown> | null =>
      running ?? (inFlight.size > 0 ? Promise.race(inFlight.values()) : null),
    stop(): void {
      stopped.abort();
      cancelTimer();
    },
    /** Aborts the attempts in flight; their notifications stay pending. */
    abort: () => aborted.abort(),
    /** To be called when no work is under way any more. */
    close: () => recorder.close(),
  };
}

/** A receiver that rejects has a bug. Its error can contain anything, so only its name is used. */
function unexpectedError(error: unknown): AttemptFailure {
  return failed("network", error instanceof Error ? error.name : "unknown");
}
