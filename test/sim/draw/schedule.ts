import type { Dice } from "./dice.ts";

/** Polls are due at these times of each day, by the clocks of a zone. */
export interface PollSchedule {
  readonly timeZone: string;
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  /** Null: every hour. */
  readonly hours: readonly number[] | null;
  /** The shortest distance between two polls, without changes of the clocks. */
  readonly intervalMs: number;
  readonly longestMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

interface Transition {
  readonly timeZone: string;
  readonly utcMs: number;
  /** Negative: clocks are set back. */
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

/** In some worlds, polls by a cron expression shortly before clocks are changed; null in the others. */
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
  const seconds = [0];
  const often = { hours: null, intervalMs, longestMs: intervalMs };
  const usual =
    intervalMs < minute
      ? { ...often, seconds: every(60, intervalMs / second), minutes: every(60) }
      : { ...often, seconds, minutes: every(60, intervalMs / minute) };
  return dice.pick<Omit<PollSchedule, "timeZone">>([
    usual,
    usual,
    { seconds, minutes, hours: null, intervalMs: hour, longestMs: hour },
    { seconds, minutes, hours, intervalMs: 2 * hour, longestMs: 2 * hour },
    { seconds, minutes: [0, 20, 40], hours, intervalMs: 20 * minute, longestMs: 80 * minute },
  ]);
}

export function cronExpression({ seconds, minutes, hours }: PollSchedule): string {
  return `${seconds.join()} ${minutes.join()} ${hours?.join() ?? "*"} * * *`;
}
