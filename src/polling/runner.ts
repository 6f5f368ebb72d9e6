import type { Target } from "../fleet/model.ts";
import type { LastRuns } from "../lib/clock.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { CallFailure } from "../service/failure.ts";
import { callWithRetries } from "./call-with-retries.ts";
import type { AttemptCall, CallDeps, NotSent } from "./call-with-retries.ts";
import { createScheduler, type Scheduler } from "./scheduler.ts";
import { createTicker } from "./ticker.ts";
import type { Ticker, TickerDeps } from "./ticker.ts";

/** What is called on a schedule with a key in a region: a target for its listing, or a probe. */
export interface Unit<Success extends { readonly kind: "ok" }> {
  /** Unique among the units of a runner. It says when in a round the unit is run. */
  readonly name: string;
  readonly target: Target;
  readonly schedule: Schedule;
  /** Whether its first run comes before those of others. Default: no. */
  readonly isUrgent?: () => boolean;
  /** How its calls wait for a token of the key. */
  readonly order?: "one_by_one";
  /** A refusal with this HTTP status is expected, and says nothing against the key. */
  readonly expectedStatus?: number;
  /** One attempt. */
  call(attempt: AttemptCall): Promise<Success | CallFailure>;
  /** Decides what the outcome means and stores it; only then the unit's state, metrics and log show it, and messages are sent. */
  commit(outcome: Outcome<Success>, run: Run): Promise<void>;
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
  /** When each unit last began or ended a run on its schedule: "polls us/research". */
  readonly runs: LastRuns;
  readonly ticking: TickerDeps;
}

interface RunTimes extends Pick<Run, "startedMs" | "deadlineMs"> {
  /** From a run to the next one, where the schedule does not pause. */
  readonly intervalMs: number;
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
export class Runner<Success extends { readonly kind: "ok" }> {
  private readonly deps: RunnerDeps;
  private readonly states = new Map<Unit<Success>, UnitState>();
  /** One for all units with the same schedule. */
  private readonly schedulers: readonly Scheduler<Unit<Success>>[];
  private readonly calls = new AbortController();
  private isStopped = false;

  constructor(deps: RunnerDeps, units: readonly Unit<Success>[]) {
    this.deps = deps;
    const bySchedule = Map.groupBy(units, ({ schedule }) => JSON.stringify(schedule));
    this.schedulers = [...bySchedule.values()].flatMap((alike) => {
      const [first] = alike;
      return first ? [this.createScheduler(first.schedule, alike)] : [];
    });
  }

  start(): void {
    for (const scheduler of this.schedulers) scheduler.start();
  }

  /** Runs a unit now, also during the back-off after its key was refused. Never rejects. */
  async runNow(unit: Unit<Success>): Promise<void> {
    const state = this.states.get(unit);
    if (!state) return;
    state.refusal = { ...state.refusal, backOffUntilMs: Number.NEGATIVE_INFINITY };
    await this.run(unit, this.nowMs() + state.ticker.intervalMs);
  }

  /** Runs each unit once, outside its schedule. */
  async runOnce(): Promise<void> {
    const atMs = this.nowMs();
    const runs = this.states
      .entries()
      .map(([unit, { ticker }]) => this.run(unit, atMs + ticker.intervalMs));
    await Promise.all(runs);
  }

  /** Ends the calls in progress and starts no more runs; resolves when the commits in progress have ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.calls.abort();
    await Promise.all(this.schedulers.map((scheduler) => scheduler.stop()));
  }

  private nowMs(): number {
    return this.deps.clock.now().monotonicMs;
  }

  /** @returns null: the runner was stopped meanwhile */
  private async call(
    unit: Unit<Success>,
    state: UnitState,
    { startedMs, deadlineMs, intervalMs }: RunTimes,
  ): Promise<{ readonly outcome: Outcome<Success>; readonly run: Run } | null> {
    const { target, order, expectedStatus } = unit;
    const { refusal } = state;
    const { signal } = this.calls;
    let calledMs: number | null = null;
    const outcome =
      startedMs < refusal.backOffUntilMs
        ? ({ kind: "backing_off" } as const)
        : await callWithRetries(this.deps, target, { deadlineMs, signal, order }, (attempt) => {
            calledMs ??= this.nowMs();
            return unit.call(attempt);
          });
    if (outcome.kind === "stopped") return null;
    const isExpected = outcome.kind === "failed" && outcome.status === expectedStatus;
    const end = isExpected ? ({ kind: "ok" } as const) : outcome;
    state.refusal = refusalAfter(refusal, end, startedMs, intervalMs);
    const isNewlyRefused = refusal.inARow === 0 && state.refusal.inARow === 1;
    const endedMs = this.nowMs();
    return { outcome, run: { startedMs, calledMs, endedMs, deadlineMs, isNewlyRefused } };
  }

  private async runOf(unit: Unit<Success>, state: UnitState, deadlineMs: number): Promise<void> {
    const startedMs = this.nowMs();
    // This run may have started late.
    const intervalMs = Math.max(state.ticker.intervalMs, deadlineMs - startedMs);
    const firstMs =
      state.observedUntilMs === null ? startedMs + state.ticker.firstRoundMs() : -Infinity;
    let endedMs = startedMs;
    if (startedMs > (state.observedUntilMs ?? Infinity)) unit.noteGap?.();
    try {
      const times = { startedMs, deadlineMs, intervalMs };
      const called = await this.call(unit, state, times);
      endedMs = this.nowMs();
      if (called !== null) await unit.commit(called.outcome, called.run);
    } catch (error) {
      unit.lose(error);
    }
    // A run may be skipped where this one was slow or the next one is late, and the schedule may pause right
    // after the start. With more runs missing, the process was held up, or the commit was.
    const dueMs = Math.max(deadlineMs, firstMs, endedMs);
    state.observedUntilMs = dueMs + latestStartFactor * intervalMs;
  }

  /** Runs a unit now; while it runs already, that run counts. Never rejects. */
  run(unit: Unit<Success>, deadlineMs: number): Promise<void> {
    const state = this.states.get(unit);
    if (!state || this.isStopped) return Promise.resolve();
    state.running ??= this.runOf(unit, state, deadlineMs).finally(() => {
      state.running = null;
    });
    return state.running;
  }

  private createScheduler(schedule: Schedule, units: readonly Unit<Success>[]) {
    const { clock, loop, runs, limits, ticking } = this.deps;
    const ticker = createTicker(schedule, ticking);
    for (const unit of units) {
      limits.schedule(unit.target, ticker.intervalMs);
      const refusal = notRefused;
      this.states.set(unit, { ticker, refusal, observedUntilMs: null, running: null });
    }
    const run = async (unit: Unit<Success>, deadlineMs: number): Promise<void> => {
      runs.set(`${loop} ${unit.name}`, clock.now());
      await this.run(unit, deadlineMs);
      runs.set(`${loop} ${unit.name}`, clock.now());
    };
    return createScheduler({ units, ticker, clock, run });
  }
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
  startedMs: number,
  intervalMs: number,
): Refusal {
  if (end.kind !== "failed") return end.kind === "ok" ? notRefused : before;
  if (end.reason === "auth") {
    const waitMs = Math.min(longestBackOffMs, intervalMs * 2 ** before.inARow);
    // Polls are not exactly an interval apart: the one due at about that time must not be skipped.
    return { inARow: before.inARow + 1, backOffUntilMs: startedMs + waitMs - intervalMs / 2 };
  }
  // Only an answer of the service shows that the key is not refused any more.
  return end.status === null ? { ...before, backOffUntilMs: -Infinity } : notRefused;
}
