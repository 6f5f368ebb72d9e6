import type { Target } from "../fleet/model.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { CallFailure } from "../service/failure.ts";
import { callWithRetries } from "./call-with-retries.ts";
import type { AttemptCall, CallDeps, NotSent } from "./call-with-retries.ts";
import { createScheduler } from "./scheduler.ts";
import { createTicker } from "./ticker.ts";
import type { Ticker, TickerDeps } from "./ticker.ts";

/** What is called on a schedule with a key in a region: a target for its listing, or a probe. */
export interface Unit<Success extends { readonly kind: "ok" }, Decision> {
  /** Unique among the units of a runner. It says when in a round the unit is run. */
  readonly name: string;
  readonly target: Target;
  readonly schedule: Schedule;
  /** How its calls wait for a token of the key. */
  readonly order?: "one_by_one";
  /** A refusal with this HTTP status is expected, and says nothing against the key. */
  readonly expectedStatus?: number;
  /** One attempt. */
  call(attempt: AttemptCall): Promise<Success | CallFailure>;
  /** What the outcome means. The unit's state stays as it is. */
  decide(outcome: Outcome<Success>, run: Run): Promise<Decision>;
  /** Stores the decision; only then the unit's state, metrics and log show it, and messages are sent. */
  commit(decision: Decision): Promise<void>;
  /** A run threw, most likely in the store. It is ignored; the next run decides again. */
  lose(error: unknown): void;
  /** Runs are missing, as the process was held up: the time until now was not observed. */
  noteGap?(): void;
}

export type Outcome<Success> =
  | Success
  | CallFailure
  | NotSent
  /** The key was refused a short time ago: nothing was sent, so nothing failed. */
  | { readonly kind: "backing_off" };

/** One run of a unit. Monotonic milliseconds. */
export interface Run {
  readonly startedMs: number;
  /** When the first attempt began, after the wait for a token; null: there was none. */
  readonly calledMs: number | null;
  readonly endedMs: number;
  /** When the next run is due. */
  readonly deadlineMs: number;
  /** The service refuses the key, and did not before. */
  readonly isNewlyRefused: boolean;
}

export interface RunnerDeps extends CallDeps {
  readonly loop: "polls" | "probes";
  readonly watchdog: { turn(loop: RunnerDeps["loop"], name: string): void };
  readonly store: {
    /** No other decision is about to be committed: those that wait for others are committed now. */
    commitGathered(): void;
  };
  readonly ticking: TickerDeps;
}

/** What is kept of a unit between two runs. */
interface UnitState {
  readonly ticker: Ticker;
  refusal: Refusal;
  /** When its next run must start for the time until then to count as observed; null: it has not run. */
  observedUntilMs: number | null;
  /** Its run in progress. */
  running: Promise<void> | null;
}

/** A run that starts more than this many intervals after it is due leaves unobserved time. */
const latestStartFactor = 1.1;

/** Runs units on their schedules, and never one twice at a time. */
export function createRunner<
  Success extends { readonly kind: "ok" },
  Decision,
  U extends Unit<Success, Decision> = Unit<Success, Decision>,
>(units: readonly U[], deps: RunnerDeps) {
  const { clock, loop, watchdog, store, ticking } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const states = new Map<U, UnitState>();
  let undecided = 0;
  const nowMs = (): number => clock.now().monotonicMs;

  const decide = async (
    unit: U,
    state: UnitState,
    { startedMs, deadlineMs }: Pick<Run, "startedMs" | "deadlineMs">,
  ): Promise<Decision | null> => {
    const { target, order, expectedStatus } = unit;
    const { refusal } = state;
    let calledMs: number | null = null;
    const outcome =
      startedMs < refusal.backOffUntilMs
        ? ({ kind: "backing_off" } as const)
        : await callWithRetries(deps, target, { deadlineMs, signal, order }, (attempt) => {
            calledMs ??= nowMs();
            return unit.call(attempt);
          });
    if (outcome.kind === "stopped") return null;
    const isExpected = outcome.kind === "failed" && outcome.status === expectedStatus;
    const end = isExpected ? ({ kind: "ok" } as const) : outcome;
    state.refusal = refusalAfter(refusal, end, { startedMs, deadlineMs });
    const isNewlyRefused = refusal.inARow === 0 && state.refusal.inARow === 1;
    const endedMs = nowMs();
    return unit.decide(outcome, { startedMs, calledMs, endedMs, deadlineMs, isNewlyRefused });
  };

  const runOf = async (unit: U, state: UnitState, deadlineMs: number): Promise<void> => {
    const startedMs = nowMs();
    if (startedMs > (state.observedUntilMs ?? Infinity)) unit.noteGap?.();
    try {
      undecided += 1;
      const decision = await decide(unit, state, { startedMs, deadlineMs }).finally(() => {
        undecided -= 1;
        // After this decision was passed to the store.
        if (undecided === 0) setImmediate(() => undecided === 0 && store.commitGathered());
      });
      if (decision !== null) await unit.commit(decision);
    } catch (error) {
      unit.lose(error);
    }
    // A run may be skipped where this one was slow or the next one is late, and the schedule may pause right
    // after the start. With more runs missing, the process was held up.
    const { intervalMs, firstRoundMs } = state.ticker;
    const firstMs = state.observedUntilMs === null ? startedMs + firstRoundMs : 0;
    const dueMs = Math.max(deadlineMs, firstMs, nowMs());
    state.observedUntilMs =
      dueMs + latestStartFactor * Math.max(intervalMs, deadlineMs - startedMs);
  };

  /** Runs a unit now; while it runs already, that run counts. Never rejects. */
  const run = (unit: U, deadlineMs: number): Promise<void> => {
    const state = states.get(unit);
    if (!state || signal.aborted) return Promise.resolve();
    state.running ??= runOf(unit, state, deadlineMs).finally(() => {
      state.running = null;
    });
    return state.running;
  };

  const runScheduled = async (unit: U, deadlineMs: number): Promise<void> => {
    watchdog.turn(loop, unit.name);
    await run(unit, deadlineMs);
    watchdog.turn(loop, unit.name);
  };

  const bySchedule = Map.groupBy(units, ({ schedule }) => JSON.stringify(schedule));
  const schedulers = Array.from(bySchedule, ([schedule, alike]) => {
    const parsed: Schedule = JSON.parse(schedule);
    const ticker = createTicker(parsed, ticking);
    for (const unit of alike) {
      states.set(unit, { ticker, refusal: notRefused, observedUntilMs: null, running: null });
    }
    return createScheduler({ units: alike, ticker, clock, run: runScheduled });
  });

  return {
    start(): void {
      for (const scheduler of schedulers) scheduler.start();
    },
    run,
    /** Runs a unit now, also during the back-off after its key was refused. Never rejects. */
    async runNow(unit: U): Promise<void> {
      const state = states.get(unit);
      if (!state) return;
      state.refusal = { ...state.refusal, backOffUntilMs: Number.NEGATIVE_INFINITY };
      await run(unit, nowMs() + state.ticker.intervalMs);
    },
    /** Runs each unit once, outside its schedule. */
    async runOnce(): Promise<void> {
      const atMs = nowMs();
      const runs = states
        .entries()
        .map(([unit, { ticker }]) => run(unit, atMs + ticker.intervalMs));
      await Promise.all(runs);
    },
    /** Ends the calls in progress and starts no more runs; resolves when the commits in progress have ended. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
    },
  };
}

/** A key that is refused again and again is tried this often, or at every poll where polls are rarer. */
export const longestBackOffMs = 5 * 60_000;

/** What is remembered of how the service refuses a key (401, 403). */
interface Refusal {
  readonly inARow: number;
  /** Nothing is sent before. Monotonic milliseconds. */
  readonly backOffUntilMs: number;
}

const notRefused: Refusal = { inARow: 0, backOffUntilMs: Number.NEGATIVE_INFINITY };

/**
 * After the first refusal the key is tried again at the next scheduled poll; each further one in a row doubles
 * the distance, up to five minutes.
 */
function refusalAfter(
  before: Refusal,
  end: CallFailure | { readonly kind: "ok" | "not_sent" | "backing_off" },
  { startedMs, deadlineMs }: Pick<Run, "startedMs" | "deadlineMs">,
): Refusal {
  if (end.kind !== "failed") return end.kind === "ok" ? notRefused : before;
  if (end.reason === "auth") {
    const intervalMs = deadlineMs - startedMs;
    const waitMs = Math.min(longestBackOffMs, intervalMs * 2 ** before.inARow);
    // Polls are not exactly an interval apart: the one due at about that time must not be skipped.
    return { inARow: before.inARow + 1, backOffUntilMs: startedMs + waitMs - intervalMs / 2 };
  }
  // Only an answer of the service shows that the key is not refused any more.
  return end.status === null ? { ...before, backOffUntilMs: -Infinity } : notRefused;
}
