import type { Dice } from "./support/dice.ts";

/** Polls are due at these times of each day, by the clocks of a zone. */
export interface PollSchedule {
  readonly timeZone: string;
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  /** Null: every hour. */
  readonly hours: readonly number[] | null;
  /** How far apart they are at least, clocks that are changed left aside. Milliseconds. */
  readonly intervalMs: number;
  /** How far apart they are at most. Milliseconds. */
  readonly longestMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

interface Transition {
  readonly timeZone: string;
  readonly utcMs: number;
  /** How far clocks are set forward; negative: back. Milliseconds. */
  readonly byMs: number;
}

/** When clocks are changed. */
export const transitions: readonly [Transition, ...Transition[]] = [
  { timeZone: "Europe/Berlin", utcMs: Date.UTC(2026, 2, 29, 1), byMs: hour },
  { timeZone: "Europe/Berlin", utcMs: Date.UTC(2026, 9, 25, 1), byMs: -hour },
  { timeZone: "America/New_York", utcMs: Date.UTC(2026, 2, 8, 7), byMs: hour },
  { timeZone: "America/New_York", utcMs: Date.UTC(2026, 10, 1, 6), byMs: -hour },
  { timeZone: "Australia/Lord_Howe", utcMs: Date.UTC(2026, 9, 3, 15, 30), byMs: 30 * minute },
  { timeZone: "Australia/Lord_Howe", utcMs: Date.UTC(2026, 3, 4, 15), byMs: -30 * minute },
];

const every = (count: number, step = 1, from = 0): readonly number[] =>
  Array.from({ length: Math.ceil((count - from) / step) }, (_, at) => from + at * step);

/**
 * Polls by a cron expression where clocks are about to be changed; null: in most worlds. Some come as
 * often as `intervalMs` says, others once an hour or in certain hours only.
 */
export function drawSchedule(
  dice: Dice,
  intervalMs: number,
): { readonly schedule: PollSchedule; readonly startUtcMs: number } | null {
  if (!dice.chance(0.25)) return null;
  const { timeZone, utcMs } = dice.pick(transitions);
  const schedule = { timeZone, ...drawTimes(dice, intervalMs) };
  const aheadMs = Math.round(dice.random() ** 2 * 30 * schedule.intervalMs);
  return { schedule, startUtcMs: utcMs - aheadMs };
}

function drawTimes(dice: Dice, intervalMs: number): Omit<PollSchedule, "timeZone"> {
  const hours = every(24, 2, dice.between(0, 1));
  const minutes = [dice.pick([0, 15, 30, 45])];
  const often =
    intervalMs < minute
      ? { seconds: every(60, intervalMs / second), minutes: every(60) }
      : { seconds: [0], minutes: every(60, intervalMs / minute) };
  const inEveryHour = { hours: null, intervalMs, longestMs: intervalMs };
  return dice.pick<() => Omit<PollSchedule, "timeZone">>([
    () => ({ ...often, ...inEveryHour }),
    () => ({ ...often, ...inEveryHour }),
    () => ({ seconds: [0], minutes, hours: null, intervalMs: hour, longestMs: hour }),
    () => ({ seconds: [0], minutes, hours, intervalMs: 2 * hour, longestMs: 2 * hour }),
    () => ({
      seconds: [0],
      minutes: [0, 20, 40],
      hours,
      intervalMs: 20 * minute,
      longestMs: 80 * minute,
    }),
  ])();
}

/** As a configuration has it. */
export function cronExpression({ seconds, minutes, hours }: PollSchedule): string {
  return `${seconds.join()} ${minutes.join()} ${hours?.join() ?? "*"} * * *`;
}
