import type { PollSchedule } from "../draw/schedule.ts";
import type { Scenario } from "../scenario.ts";
import type { Evidence } from "./evidence.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const quarterMs = 15 * minuteMs;

const known = new WeakMap<Evidence, readonly number[]>();

/**
 * When polls are due by a schedule, whatever the wall clock shows. World milliseconds, in order; a wall
 * clock that is set back makes some due again.
 */
export function duePolls(evidence: Evidence, schedule: PollSchedule): readonly number[] {
  const { wallClocks, endMs } = evidence;
  const due =
    known.get(evidence) ??
    wallClocks.flatMap(({ fromMs, offsetMs }, at) => {
      const untilMs = wallClocks[at + 1]?.fromMs ?? endMs;
      return dueBetween(schedule, fromMs + offsetMs, untilMs + offsetMs).map((ms) => ms - offsetMs);
    });
  known.set(evidence, due);
  return due;
}

/** Both in UTC, the first included. */
function dueBetween(schedule: PollSchedule, fromUtcMs: number, untilUtcMs: number) {
  const offset = offsets(schedule.timeZone);
  const due: number[] = [];
  const firstMs = Math.floor(fromUtcMs / minuteMs) * minuteMs;
  for (let utcMs = firstMs; utcMs < untilUtcMs; utcMs += minuteMs) {
    due.push(...dueInMinute(schedule, offset, utcMs));
  }
  return due.filter((ms) => ms >= fromUtcMs && ms < untilUtcMs);
}

type Offset = (utcMs: number) => number;

function dueInMinute(schedule: PollSchedule, offset: Offset, utcMs: number): readonly number[] {
  const { seconds, hours, minutes } = schedule;
  const reading = utcMs + offset(utcMs);
  const isOnce = hours !== null && minutes.length * seconds.length === 1;
  /** Whether the clock showed the same some hours ago. */
  const isRepeated = (agoMs: number): boolean => offset(utcMs - agoMs) - agoMs === offset(utcMs);
  if (fits(schedule, reading) && !(isOnce && (isRepeated(hourMs / 2) || isRepeated(hourMs)))) {
    return seconds.map((second) => utcMs + second * 1_000);
  }
  // What lies in skipped time comes when that is over, where it would not come for hours otherwise.
  if (hours === null) return [];
  for (let skipped = utcMs + offset(utcMs - 1); skipped < reading; skipped += minuteMs) {
    if (fits(schedule, skipped)) return [utcMs];
  }
  return [];
}

function fits({ minutes, hours }: PollSchedule, reading: number): boolean {
  const date = new Date(reading);
  return minutes.includes(date.getUTCMinutes()) && (hours?.includes(date.getUTCHours()) ?? true);
}

/** How far the clocks of a zone are ahead; they are changed at a quarter of an hour. */
function offsets(timeZone: string): Offset {
  const options = { timeZone, dateStyle: "short", timeStyle: "medium", hourCycle: "h23" } as const;
  const format = new Intl.DateTimeFormat("en-CA", options);
  const read = new Map<number, number>();
  return (utcMs) => {
    const quarter = Math.floor(utcMs / quarterMs) * quarterMs;
    const shown = (): number => Date.parse(`${format.format(quarter).replace(", ", "T")}Z`);
    const found = read.get(quarter) ?? shown() - quarter;
    read.set(quarter, found);
    return found;
  };
}

/** How many are after a time, up to another. */
export function countAfter(due: readonly number[], fromMs: number, toMs: number): number {
  return Math.max(0, indexAfter(due, toMs) - indexAfter(due, fromMs));
}

/** The index of the first after a time. */
export function indexAfter(due: readonly number[], ms: number): number {
  let [low, high] = [0, due.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((due[middle] ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many polls of a target are due in a time: one more or less at each step of the clock. */
export function pollsWithin(evidence: Evidence, fromMs: number, toMs: number) {
  const { schedule, intervalMs } = evidence.scenario;
  if (schedule === null) {
    const polls = Math.floor((toMs - fromMs) / intervalMs);
    return { least: polls, most: polls };
  }
  const due = countAfter(duePolls(evidence, schedule), fromMs, toMs);
  const steps = stepsBetween(evidence, fromMs - longestGapMs(schedule), toMs);
  return { least: due - steps, most: due + steps };
}

export function stepsBetween({ wallClocks }: Evidence, fromMs: number, toMs: number): number {
  return wallClocks.slice(1).filter((step) => step.fromMs > fromMs && step.fromMs <= toMs).length;
}

/** Once a year an hour comes twice. */
export function longestGapMs({ longestMs }: PollSchedule): number {
  return longestMs + hourMs;
}

/** The longest distance between a target's polls while nothing goes wrong. */
export function longestPollDistanceMs({ schedule, intervalMs }: Scenario): number {
  return schedule?.longestMs ?? intervalMs;
}
