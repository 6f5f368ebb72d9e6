import { createTask, schedule as scheduleCron } from "node-cron";
import type { ScheduledTask } from "node-cron";
import type { Schedule } from "../core/schedule.ts";
import type { Clock } from "../platform/clock.ts";

/** Starts the rounds in which every target has its turn once. */
export interface Ticker {
  /** The usual length of a round: a schedule's next one. Milliseconds. */
  readonly intervalMs: number;
  /** Calls back at the start of each round with the time until the next one in milliseconds. */
  start(onRound: (lengthMs: number) => void): void;
  stop(): void;
}

export interface TickerDeps {
  readonly clock: Clock;
  /** A round had to be started without node-cron: the wall clock was set back, or it was held up. */
  readonly onLateTick: () => void;
}

export function createTicker(schedule: Schedule, deps: TickerDeps): Ticker {
  return schedule.kind === "every"
    ? createEveryTicker(schedule.ms, deps.clock)
    : createCronTicker(schedule.expression, deps);
}

function createEveryTicker(lengthMs: number, clock: Clock): Ticker {
  let cancel = (): void => {};
  return {
    intervalMs: lengthMs,
    start(onRound) {
      // Each round is counted from the start, so that late timers do not add up.
      const startedMs = clock.now().monotonicMs;
      let round = 0;
      const beginRound = (): void => {
        const elapsedMs = clock.now().monotonicMs - startedMs;
        round = Math.max(round + 1, Math.floor(elapsedMs / lengthMs) + 1);
        const leftMs = round * lengthMs - elapsedMs;
        cancel = clock.setTimer(leftMs, beginRound);
        onRound(leftMs);
      };
      beginRound();
    },
    stop: () => cancel(),
  };
}

/** How late node-cron may be before its silence is taken for a wall clock that was set back. */
const graceMs = 1_000;

/**
 * One node-cron task whatever the number of targets. node-cron waits for wall-clock moments, so
 * after a step backwards it is silent until the clock has caught up; a watch on the monotonic clock
 * notices, starts the round that is due and sets the task up again.
 */
function createCronTicker(expression: string, { clock, onLateTick }: TickerDeps): Ticker {
  let task: ScheduledTask | undefined;
  let cancelWatch = (): void => {};
  let stopped = false;

  return {
    intervalMs: intervalOf({ kind: "cron", expression }),
    start(onRound) {
      const schedule = (): void => {
        task = scheduleCron(expression, round, { suppressMissedWarning: true });
      };
      const watch = (lengthMs: number): void => {
        cancelWatch();
        cancelWatch = clock.setTimer(lengthMs + graceMs, () => {
          void task?.destroy();
          schedule();
          onLateTick();
          round();
        });
      };
      const round = (): void => {
        // node-cron calls back some promises after its timer: stop can come in between.
        if (stopped) return;
        const lengthMs = task ? msToNextRun(task, clock) : graceMs;
        watch(lengthMs);
        onRound(lengthMs);
      };
      schedule();
      watch(task ? msToNextRun(task, clock) : graceMs);
    },
    stop() {
      stopped = true;
      cancelWatch();
      void task?.destroy();
    },
  };
}

/** A timer can fire a moment early: then the run that is ahead is still the present one. */
const earlyMs = 100;

function msToNextRun(task: ScheduledTask, clock: Clock): number {
  const nowMs = clock.now().utcMs;
  const ahead = task.getNextRuns(2).map((run) => run.getTime() - nowMs);
  return ahead.find((ms) => ms > earlyMs) ?? graceMs;
}

/** How long until the next round of a schedule can begin: at least its usual length. Milliseconds. */
export function firstRoundOf(schedule: Schedule, clock: Clock): number {
  const intervalMs = intervalOf(schedule);
  if (schedule.kind === "every") return intervalMs;
  const task = createTask(schedule.expression, () => {});
  const [next] = task.getNextRuns(1);
  void task.destroy();
  return Math.max(intervalMs, next ? next.getTime() - clock.now().utcMs : 0);
}

/** How far apart the rounds of a schedule are: of a cron expression its next two. Milliseconds. */
export function intervalOf(schedule: Schedule): number {
  if (schedule.kind === "every") return schedule.ms;
  const task = createTask(schedule.expression, () => {});
  const [next, following] = task.getNextRuns(2);
  void task.destroy();
  return next && following ? following.getTime() - next.getTime() : graceMs;
}
