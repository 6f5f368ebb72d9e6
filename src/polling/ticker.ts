import { schedule as scheduleCron } from "node-cron";
import type { Schedule } from "../fleet/schedule.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { parseCronTimes } from "../lib/cron-times.ts";
import type { CronTimes } from "../lib/cron-times.ts";

/** Starts the rounds in which every unit is run once. */
export interface Ticker {
  /** The usual length of a round: see `intervalOf`. Milliseconds. */
  readonly intervalMs: number;
  /** How long after now the first whole round of a new unit can begin: a schedule may pause. Milliseconds. */
  firstRoundMs(): number;
  /** Calls back at the start of each round with the time until the next one in milliseconds. */
  start(onRound: (lengthMs: number) => void): void;
  stop(): void;
}

/** Calls back once, when the wall clock has reached a moment. The returned function cancels. */
export type WakeAt = (utcMs: number, onDue: () => void) => () => void;

export interface TickerDeps {
  readonly clock: Clock;
  /** Default: node-cron. */
  readonly wakeAt?: WakeAt | undefined;
  readonly log: Pick<Logger, "warn">;
}

export function createTicker(schedule: Schedule, deps: TickerDeps): Ticker {
  return schedule.kind === "every"
    ? createEveryTicker(schedule.ms, deps.clock)
    : createCronTicker(timesOf(schedule), deps);
}

function createEveryTicker(lengthMs: number, clock: Clock): Ticker {
  let cancel = (): void => {};
  return {
    intervalMs: lengthMs,
    firstRoundMs: () => lengthMs,
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

/**
 * A node-cron task for one moment, in UTC. In the hour that the machine's own zone repeats, node-cron takes the second
 * pass for the first in any zone, and is silent and busy until the hour is over: a plain timer waits there.
 */
const wakeByNodeCron: WakeAt = (utcMs, onDue) => {
  if (isRepeatedHere(utcMs)) return systemClock.setTimer(utcMs - Date.now(), onDue);
  const at = new Date(utcMs);
  const time = [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours()];
  const expression = [...time, at.getUTCDate(), at.getUTCMonth() + 1, "*"].join(" ");
  const task = scheduleCron(expression, onDue, { timezone: "UTC", suppressMissedWarning: true });
  task.on("execution:missed", onDue);
  return () => void task.destroy();
};

/** Whether the machine's own clock showed the same before, and was set back since. */
function isRepeatedHere(utcMs: number): boolean {
  return new Date(utcMs).setMilliseconds(0) !== Math.floor(utcMs / 1_000) * 1_000;
}

/** How late a round may be before the wall clock is taken to have been set. */
const graceMs = 1_000;

/** How often the ticker checks whether the wall clock was set forward past the next round. */
const lookEveryMs = 60_000;

/**
 * One node-cron task for one round at a time. It waits for a moment of the wall clock, so after a step of that clock it
 * comes late: a timer on the monotonic clock notices, and starts the round that is due.
 */
function createCronTicker(
  times: CronTimes,
  { clock, log, wakeAt = wakeByNodeCron }: TickerDeps,
): Ticker {
  let cancelWake = (): void => {};
  let cancelWatch = (): void => {};
  let stopped = false;

  return {
    intervalMs: times.intervalMs,
    firstRoundMs: () => firstRoundOf(times, clock.now().utcMs),
    start(onRound) {
      /** @returns the time until the next round. Milliseconds */
      const awaitNext = (): number => {
        const now = clock.now();
        const nextUtcMs = times.next(now.utcMs) ?? Infinity;
        const aheadMs = nextUtcMs - now.utcMs;
        const wait = (): void => {
          cancelWake();
          cancelWake = wakeAt(nextUtcMs, () => {
            // node-cron calls back some promises after its timer: stop can come in between.
            if (stopped) return;
            if (clock.now().utcMs < nextUtcMs) wait();
            else round();
          });
        };
        const watch = (): void => {
          const { utcMs, monotonicMs } = clock.now();
          const lateInMs = now.monotonicMs + aheadMs + graceMs - monotonicMs;
          if (lateInMs > 0 && utcMs < nextUtcMs + graceMs) {
            cancelWatch = clock.setTimer(Math.min(lateInMs, lookEveryMs), watch);
            return;
          }
          // The wall clock was set back, or node-cron was held up.
          log.warn(
            { event: "clock.late" },
            "a scheduled round did not start on time; it is started now",
          );
          round();
        };
        cancelWatch();
        if (nextUtcMs < Infinity) wait();
        watch();
        return aheadMs;
      };
      const round = (): void => onRound(awaitNext());
      awaitNext();
    },
    stop() {
      stopped = true;
      cancelWatch();
      cancelWake();
    },
  };
}

/** Time until the first round. One right after the start is skipped (see `createScheduler`). Milliseconds. */
function firstRoundOf(times: CronTimes, nowMs: number): number {
  const shortestMs = times.intervalMs;
  const nextMs = times.next(nowMs) ?? nowMs;
  const isPassedOver = nextMs - nowMs < shortestMs / 2;
  const firstMs = isPassedOver ? (times.next(nextMs) ?? nextMs) : nextMs;
  return Math.max(shortestMs, firstMs - nowMs);
}

export function timesOf({ expression, timeZone }: Extract<Schedule, { kind: "cron" }>): CronTimes {
  const times = parseCronTimes(expression, timeZone);
  if (!times)
    throw new TypeError(`not a cron expression and a time zone: ${expression}, ${timeZone}`);
  return times;
}

/**
 * The usual interval between two rounds of a schedule, in milliseconds. For a cron expression it is the shortest one:
 * `*\/30 * 9-17 * * *` means every 30 seconds.
 */
export function intervalOf(schedule: Schedule): number {
  return schedule.kind === "every" ? schedule.ms : timesOf(schedule).intervalMs;
}
