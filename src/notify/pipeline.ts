import { earliestDueMs } from "../alerts/grouping.ts";
import { withLabels, type LabelsOf, type Notification } from "../alerts/notification.ts";
import type { LastRuns } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import { composeDue, type ComposeSettings } from "./compose.ts";
import type { ReadyNotification, Outbox } from "../store/outbox.ts";
import { failed, type AttemptFailure, type Receiver } from "./receiver.ts";
import { createRecorder, unreadableAttempt } from "./record-attempts.ts";
import type { EndedAttempt, RecorderDeps } from "./record-attempts.ts";
import { afterFailure, timeBounds } from "./retry.ts";
import { createStoreRetries } from "./record-attempts.ts";

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
  /** Says whether this process may deliver now. */
  readonly mayAct: () => boolean;
  readonly labelsOf: LabelsOf;
  /** When the worker of each receiver last looked at the outbox: "deliveries oncall". */
  readonly runs: LastRuns;
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
 *    pause between messages, once the next one can be sent. What one step composes keeps its order, too (`Outbox.ready`)
 * 4. pace: how many attempts at a time, and the pause that the receiver asked for
 * 5. send: one attempt (`receivers/`, `outbound.ts`)
 * 6. retry: delivered, tried again later, or dead-lettered (`retry.ts`)
 * 7. record: in the store, in metrics and in the log (`record-attempts.ts`)
 */
export class DeliveryWorker {
  private readonly settings: DeliveryReceiver;
  private readonly deps: WorkerDeps;
  private readonly name: string;
  /** The pause after each attempt: then one is made at a time. Milliseconds. */
  private readonly restMs: number;
  private readonly untilStored: ReturnType<typeof createStoreRetries>;
  private readonly recorder: ReturnType<typeof createRecorder>;
  private readonly stopped = new AbortController();
  private readonly aborted = new AbortController();
  /** Attempts whose results are not stored yet, by sequence number. */
  private readonly inFlight = new Map<number, Promise<unknown>>();
  private attempting = 0;
  private running: Promise<void> | null = null;
  private runAgain = false;
  private started = false;
  private tookOver = false;
  /** No attempt may begin before this moment of the delivery clock. */
  private pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** When the next attempt can begin, on the delivery clock. Infinite: once another one has ended, or at the next `wake`. */
  private attemptDueAtMs = Infinity;
  /** When items are read again, on the delivery clock. Infinite: at the next `wake`. */
  private groupDueAtMs: number;
  /** Whether items wait until a notification has ended. */
  private holdsItems = false;
  private cancelTimer = (): void => {};

  constructor(settings: DeliveryReceiver, deps: WorkerDeps) {
    this.settings = settings;
    this.deps = deps;
    this.name = settings.receiver.name;
    this.restMs = settings.receiver.restMs ?? 0;
    this.groupDueAtMs = deps.deliveryClock();
    this.untilStored = createStoreRetries(this.name, deps, this.stopped.signal);
    this.recorder = createRecorder(this.name, deps);
  }

  /** From now on the worker wakes by itself when something is due. */
  start(): void {
    this.started = true;
    this.runSoon();
  }

  /**
   * There may be new items. They are read once they can be due, as there may be very many.
   *
   * @param causedAtMs none of them was caused before. UTC milliseconds
   */
  wake(causedAtMs: number): void {
    const { utcMs } = this.deps.clock.now();
    const waitMs = earliestDueMs(causedAtMs, this.settings.groupWaitMs, utcMs) - utcMs;
    this.groupDueAtMs = Math.min(this.groupDueAtMs, this.nowMs() + Math.max(0, waitMs));
    this.runSoon();
  }

  /** Resolves when some of the work under way has ended; null: there is none. */
  underWay(): Promise<unknown> | null {
    return this.running ?? (this.inFlight.size > 0 ? Promise.race(this.inFlight.values()) : null);
  }

  stop(): void {
    this.stopped.abort();
    this.cancelTimer();
  }

  /** Aborts the attempts in flight; their notifications stay pending. */
  abort(): void {
    this.aborted.abort();
  }

  /** To be called when no work is under way any more. */
  close(): void {
    this.recorder.close();
  }

  /** Stages 1 to 4; the others follow for each notification that begins. */
  private async run(): Promise<void> {
    this.cancelTimer();
    if (!this.tookOver) await this.takeOverStored();
    try {
      await this.compose();
    } finally {
      // What was composed before needs only to be read from the store.
      await this.beginDue();
    }
    if (this.started) this.armTimer();
  }

  /** Takes over the notifications that an earlier process left pending. */
  private async takeOverStored(): Promise<void> {
    await this.deps.outbox.boundTimes(
      this.name,
      timeBounds(this.nowMs(), this.settings.giveUpAfterMs),
    );
    // They may have been stored while the receiver, and so `send_resolved`, was not configured.
    if (this.settings.sendResolved === false) await this.deps.outbox.discardResolves(this.name);
    this.tookOver = true;
  }

  private async compose(): Promise<void> {
    if (this.groupDueAtMs > this.nowMs() || !(await this.canCompose())) return;
    // Cleared first: a wake while the items are composed sets it again.
    this.groupDueAtMs = Infinity;
    this.holdsItems = false;
    // If the store fails, everything is read again.
    let dueAtMs: number | null = this.nowMs();
    try {
      const most = this.isPaced ? 1 : Infinity;
      dueAtMs = await composeDue(this.name, this.settings, {
        ...this.deps,
        most,
        onStored: () => this.beginDue(),
        signal: this.stopped.signal,
        onHeld: () => void (this.holdsItems = true),
      });
    } finally {
      this.groupDueAtMs = Math.min(this.groupDueAtMs, dueAtMs ?? Infinity);
    }
  }

  /**
   * What waits for a receiver that takes few messages is composed only when it can be sent: then it says how things are,
   * and items that waited together are one message.
   */
  private async canCompose(): Promise<boolean> {
    if (!this.isPaced) return true;
    if (this.freeSlots() <= 0 || this.nowMs() < this.pausedUntilMs) return false;
    const [next] = await this.ready(1);
    return next === undefined || next.nextAttemptAtMs > this.nowMs();
  }

  /** When items are read again, as far as no attempt is to end before that. */
  private composeAtMs(): number {
    if (!this.isPaced) return this.groupDueAtMs;
    return this.freeSlots() > 0 ? Math.max(this.groupDueAtMs, this.pausedUntilMs) : Infinity;
  }

  private get isPaced(): boolean {
    return this.restMs > 0;
  }

  /** On the delivery clock. */
  private nowMs(): number {
    return this.deps.deliveryClock();
  }

  private async beginDue(): Promise<void> {
    this.attemptDueAtMs = Infinity;
    const free = this.freeSlots();
    if (free <= 0) return;
    for (const each of await this.ready(free)) {
      const dueAtMs = Math.max(each.nextAttemptAtMs, this.pausedUntilMs);
      if (dueAtMs <= this.nowMs() && !this.stopped.signal.aborted && this.deps.mayAct()) {
        this.begin(each);
      } else {
        this.attemptDueAtMs = Math.min(this.attemptDueAtMs, dueAtMs);
      }
    }
  }

  private ready(most: number): Promise<readonly ReadyNotification[]> {
    return this.deps.outbox.ready(this.name, most, [...this.inFlight.keys()]);
  }

  private freeSlots(): number {
    const mostInFlight = this.isPaced ? 1 : defaultInFlight;
    return Math.min(mostInFlight - this.attempting, mostUnsettled - this.inFlight.size);
  }

  private begin(due: ReadyNotification): void {
    const ended = this.deliver(due).finally(() => {
      this.inFlight.delete(due.seq);
      this.runSoon();
    });
    this.inFlight.set(due.seq, ended);
  }

  /** Stages 5 to 7. */
  private async deliver(due: ReadyNotification): Promise<void> {
    const ended = due.notification
      ? await this.attempt(due, due.notification)
      : unreadableAttempt(this.deps.clock.now().utcMs);
    if (ended === null) return;
    const stored = await this.untilStored(
      () => this.recorder.store(due, ended),
      () => this.runSoon(),
    );
    if (stored) this.recorder.report(due, ended, stored.value);
    if (this.holdsItems && ended.decision.kind !== "retry") this.groupDueAtMs = this.nowMs();
  }

  /** Null: it was aborted. */
  private async attempt(
    { attempts, giveUpAtMs, takenBy }: ReadyNotification,
    notification: Notification,
  ): Promise<EndedAttempt | null> {
    this.attempting += 1;
    const labelled = withLabels(notification, this.deps.labelsOf);
    const result = await this.settings.receiver
      .send(labelled, this.aborted.signal, takenBy)
      .catch(unexpectedError);
    this.attempting -= 1;
    if (result.kind === "aborted") return null;
    const atMs = this.deps.clock.now().utcMs;
    const nowMs = this.nowMs();
    // A rate limit applies to the receiver, not to one notification.
    const isLimited = result.kind === "failed" && result.reason === "rate_limited";
    const limitedForMs = isLimited ? (result.retryAfterMs ?? 0) : 0;
    this.pausedUntilMs = Math.max(this.pausedUntilMs, nowMs + Math.max(this.restMs, limitedForMs));
    if (result.kind === "delivered") {
      const { note } = result;
      return { atMs, failure: null, decision: result, ...(note !== undefined && { note }) };
    }
    const decision = afterFailure(result, attempts + 1, { nowMs, giveUpAtMs }, this.deps.random);
    return { atMs, failure: result, decision, takenBy: result.takenBy ?? takenBy };
  }

  private armTimer(): void {
    if (this.stopped.signal.aborted) return;
    const nextAtMs = Math.min(this.composeAtMs(), this.attemptDueAtMs, this.nowMs() + lookEveryMs);
    const leastMs = this.deps.mayAct() ? 0 : notHeldMs;
    this.cancelTimer = this.deps.clock.setTimer(Math.max(leastMs, nextAtMs - this.nowMs()), () =>
      this.runSoon(),
    );
  }

  private runSoon(): void {
    this.runAgain = true;
    if (this.running === null && !this.stopped.signal.aborted) this.running = this.keepRunning();
  }

  private async keepRunning(): Promise<void> {
    while (this.runAgain && !this.stopped.signal.aborted) {
      this.runAgain = false;
      await this.untilStored(() => this.run());
      this.deps.runs.set(`deliveries ${this.name}`, this.deps.clock.now());
    }
    // No await between the check above and this line, or a call of `runSoon` in between would be lost.
    this.running = null;
  }
}

/** A receiver that rejects has a bug. Its error can contain anything, so only its name is used. */
function unexpectedError(error: unknown): AttemptFailure {
  return failed("network", error instanceof Error ? error.name : "unknown");
}
