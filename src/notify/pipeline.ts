import { earliestDueMs } from "../core/grouping.ts";
import { attempt } from "./attempt.ts";
import { composeDue } from "./compose.ts";
import type { ComposeSettings } from "./compose.ts";
import type { DeliveryDeps } from "./delivery-deps.ts";
import type { DueNotification, PendingNotification } from "./outbox.ts";
import { createPace } from "./pace.ts";
import { createPersistently } from "./persistently.ts";
import { createRecorder } from "./recorder.ts";
import type { Receiver } from "./receiver.ts";
import { timeBounds } from "./retry.ts";

/** A receiver and how it wants its messages. */
export interface DeliveryReceiver extends Omit<ComposeSettings, "name"> {
  readonly receiver: Receiver;
  /** Whether it is to be notified when an incident is over. Default: true. */
  readonly sendResolved?: boolean;
}

/** The delivery to one receiver. Lanes share nothing but the store: none waits for another. */
export interface Lane {
  /** From now on the lane wakes by itself when something is due. */
  start(): void;
  /**
   * New items may be there. They are read once they can be due.
   *
   * @param causedAtMs none of them was caused before. UTC milliseconds; left out: they are read at once
   */
  wake(causedAtMs?: number): void;
  readonly isBusy: boolean;
  /** Resolves when nothing is in flight and nothing more is due. */
  idle(): Promise<void>;
  /** No attempt starts from now on. */
  stop(): void;
  /** Cuts short what is in flight; it stays pending. */
  abort(): void;
  /** To be called when it is idle for good: says what was held back of the log. */
  close(): void;
}

/**
 * While the store refuses to keep how attempts ended, others go on: what is due is told. But for so
 * many only: the store is asked again and again for each of them.
 */
const mostUnsettled = 50;

/** A lane looks at the outbox at least that often, so that one that hangs can be told from an idle one. */
export const lookEveryMs = 30_000;

/** A wall clock that falls behind by more from one wake to the next was set back. */
const mostSlewMs = 1_000;

export function createLane(settings: DeliveryReceiver, deps: DeliveryDeps): Lane {
  const { outbox, clock, deliveryClock } = deps;
  const { receiver } = settings;
  const grouping = { ...settings, name: receiver.name };
  const stopped = new AbortController();
  const aborted = new AbortController();
  const persistently = createPersistently(deps, receiver.name, stopped.signal);
  const recorder = createRecorder(receiver.name, deps);
  const pace = createPace(receiver, deliveryClock);
  /** Until it is kept how the attempt ended. */
  const inFlight = new Map<number, Promise<unknown>>();
  let attempting = 0;
  let turns: Promise<void> | null = null;
  let anotherTurn = false;
  let started = false;
  let bounded = false;
  /** On the delivery clock. */
  let groupDueAtMs: number | null = deliveryClock();
  /** When a wake came last, by the delivery clock. */
  let wallClockBehindMs = 0;
  let cancelTimer = (): void => {};

  const poke = (): void => {
    anotherTurn = true;
    if (turns === null && !stopped.signal.aborted) turns = takeTurns();
  };

  const takeTurns = async (): Promise<void> => {
    while (anotherTurn && !stopped.signal.aborted) {
      anotherTurn = false;
      await persistently(takeTurn);
      deps.onTurn?.(receiver.name);
    }
    // No await between the check above and this line, or a poke in between would be lost.
    turns = null;
  };

  const takeTurn = async (): Promise<void> => {
    cancelTimer();
    if (!bounded) await boundTimes();
    try {
      if (groupDueAtMs !== null && groupDueAtMs <= deliveryClock()) await compose();
    } finally {
      // What was composed before needs no more of the store than to be read.
      await beginDue();
    }
    if (started) await armTimer();
  };

  const compose = async (): Promise<void> => {
    const now = () => ({ utcMs: clock.now().utcMs, deliveryMs: deliveryClock() });
    // Cleared first: a wake while the items are composed sets it again.
    groupDueAtMs = null;
    // If the store fails: all over again, from now.
    let dueAtMs: number | null = deliveryClock();
    try {
      const onUnreadable = (itemSeqs: readonly number[]) => recorder.loseItems(itemSeqs);
      dueAtMs = await composeDue({ outbox, now, onStored: beginDue, onUnreadable }, grouping);
    } finally {
      if (dueAtMs !== null) groupDueAtMs = Math.min(groupDueAtMs ?? Infinity, dueAtMs);
    }
  };

  /** New items need not be read before they can be due: there may be very many. */
  const leastWaitMs = (causedAtMs = -Infinity): number => {
    const { utcMs } = clock.now();
    const wasBehindMs = wallClockBehindMs;
    wallClockBehindMs = deliveryClock() - utcMs;
    // Set back: what waits may be of a time that is yet to come, and then waits no longer.
    if (wallClockBehindMs - wasBehindMs > mostSlewMs) return 0;
    return Math.max(0, earliestDueMs(causedAtMs, settings.groupWaitMs, utcMs) - utcMs);
  };

  const freeSlots = (): number =>
    Math.min(pace.mostInFlight - attempting, mostUnsettled - inFlight.size);

  const beginDue = async (): Promise<void> => {
    const free = freeSlots();
    if (free <= 0 || deliveryClock() < pace.restsUntilMs) return;
    const due = await outbox.due(receiver.name, deliveryClock(), free, [...inFlight.keys()]);
    if (!stopped.signal.aborted) due.forEach(begin);
  };

  const boundTimes = async (): Promise<void> => {
    await outbox.boundTimes(receiver.name, timeBounds(deliveryClock(), settings.giveUpAfterMs));
    // They may be from when the receiver was not configured, and nobody could know what it wants.
    if (settings.sendResolved === false) await outbox.discardResolves(receiver.name);
    bounded = true;
  };

  const begin = ({ notification, ...due }: DueNotification): void => {
    const ending = notification
      ? deliver({ ...due, notification })
      : persistently(() => recorder.lose(due.seq), poke);
    const ended = ending.finally(() => {
      inFlight.delete(due.seq);
      poke();
    });
    inFlight.set(due.seq, ended);
  };

  const deliver = async (pending: PendingNotification): Promise<void> => {
    attempting += 1;
    const result = await attempt(receiver, pending.notification, clock, aborted.signal);
    attempting -= 1;
    if (result.kind === "aborted") return;
    pace.ended(result);
    const outcome = recorder.decide(pending, result);
    const stored = await persistently(() => recorder.store(pending, outcome), poke);
    if (stored) recorder.tell(pending, outcome, stored.value);
  };

  const armTimer = async (): Promise<void> => {
    const dueAtMs = [groupDueAtMs, deliveryClock() + lookEveryMs];
    // With no slot free, the end of an attempt is what wakes the lane.
    if (freeSlots() > 0) {
      const attemptAtMs = await outbox.nextAttemptAtMs(receiver.name, [...inFlight.keys()]);
      dueAtMs.push(attemptAtMs === null ? null : Math.max(attemptAtMs, pace.restsUntilMs));
    }
    const nextAtMs = Math.min(...dueAtMs.map((atMs) => atMs ?? Infinity));
    if (stopped.signal.aborted) return;
    cancelTimer = clock.setTimer(nextAtMs - deliveryClock(), poke);
  };

  const underWay = (): Promise<unknown> | null =>
    turns ?? (inFlight.size > 0 ? Promise.race(inFlight.values()) : null);

  return {
    start() {
      started = true;
      poke();
    },
    wake(causedAtMs) {
      const dueAtMs = deliveryClock() + leastWaitMs(causedAtMs);
      groupDueAtMs = Math.min(groupDueAtMs ?? Infinity, dueAtMs);
      poke();
    },
    get isBusy() {
      return underWay() !== null;
    },
    async idle() {
      for (let work = underWay(); work; work = underWay()) await work;
    },
    stop() {
      stopped.abort();
      cancelTimer();
    },
    abort: () => aborted.abort(),
    close: () => recorder.close(),
  };
}
