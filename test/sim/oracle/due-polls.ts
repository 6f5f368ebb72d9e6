import type { History } from "../history.ts";
import type { PollSchedule } from "../poll-schedule.ts";
import type { Scenario } from "../scenario.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const quarterMs = 15 * minuteMs;

const duesOf = new WeakMap<History, readonly number[]>();

/**
 * When polls are due by a schedule, whatever the wall clock shows. World milliseconds, in order; a wall
 * clock that is set back makes some due again.
 */
export function duePolls(schedule: PollSchedule, history: History): readonly number[] {
  const known = duesOf.get(history);
  if (known) return known;
  const due = history.wallClocks.flatMap(({ fromMs, offsetMs }, at) => {
    const untilMs = history.wallClocks[at + 1]?.fromMs ?? history.endMs;
    return dueBetween(schedule, fromMs + offsetMs, untilMs + offsetMs).map((ms) => ms - offsetMs);
  });
  duesOf.set(history, due);
  return due;
}

/** Both in UTC, the first included. */
export function dueBetween(
  schedule: PollSchedule,
  fromUtcMs: number,
  untilUtcMs: number,
): readonly number[] {
  const offset = offsets(schedule.timeZone);
  const due: number[] = [];
  const firstMs = Math.floor(fromUtcMs / minuteMs) * minuteMs;
  for (let utcMs = firstMs; utcMs < untilUtcMs; utcMs += minuteMs) {
    for (const each of dueInMinute(schedule, offset, utcMs)) {
      if (each >= fromUtcMs && each < untilUtcMs) due.push(each);
    }
  }
  return due;
}

type Offset = (utcMs: number) => number;

function dueInMinute(schedule: PollSchedule, offset: Offset, utcMs: number): readonly number[] {
  const { seconds, hours, minutes } = schedule;
  const reading = utcMs + offset(utcMs);
  const isOnce = hours !== null && minutes.length * seconds.length === 1;
  const isNamed =
    fits(schedule, reading) && !(isOnce && [0.5, 1].some((h) => showedIt(offset, utcMs, h)));
  if (isNamed) return seconds.map((second) => utcMs + second * 1_000);
  // What lies in missing time comes when that is over, where it would else not come for hours.
  if (hours === null) return [];
  const before = utcMs + offset(utcMs - 1);
  for (let missing = before; missing < reading; missing += minuteMs) {
    if (fits(schedule, missing)) return [utcMs];
  }
  return [];
}

function fits({ minutes, hours }: PollSchedule, reading: number): boolean {
  const date = new Date(reading);
  return (
    minutes.includes(date.getUTCMinutes()) && (hours === null || hours.includes(date.getUTCHours()))
  );
}

/** Whether the clock showed the same some hours ago. */
function showedIt(offset: Offset, utcMs: number, hours: number): boolean {
  const agoMs = hours * hourMs;
  return offset(utcMs - agoMs) - agoMs === offset(utcMs);
}

/** How far the clocks of a zone are ahead; they are changed at a quarter of an hour. */
function offsets(timeZone: string): Offset {
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    dateStyle: "short",
    timeStyle: "medium",
    hourCycle: "h23",
  });
  const known = new Map<number, number>();
  return (utcMs) => {
    const quarter = Math.floor(utcMs / quarterMs) * quarterMs;
    const found = known.get(quarter) ?? readOffset(format, quarter);
    known.set(quarter, found);
    return found;
  };
}

function readOffset(format: Intl.DateTimeFormat, utcMs: number): number {
  return Date.parse(`${format.format(utcMs).replace(", ", "T")}Z`) - utcMs;
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

/** How many turns a target has in a time, give or take: one more or less at each step of the clock. */
export function turnsWithin(
  { schedule, intervalMs }: Scenario,
  history: History,
  fromMs: number,
  toMs: number,
): { readonly least: number; readonly most: number } {
  if (schedule === null) {
    const turns = Math.floor((toMs - fromMs) / intervalMs);
    return { least: turns, most: turns };
  }
  const due = countAfter(duePolls(schedule, history), fromMs, toMs);
  const steps = stepsBetween(history, fromMs - longestGapMs(schedule), toMs);
  return { least: due - steps, most: due + steps };
}

export function stepsBetween({ wallClocks }: History, fromMs: number, toMs: number): number {
  return wallClocks.slice(1).filter((step) => step.fromMs > fromMs && step.fromMs <= toMs).length;
}

/** Once a year an hour comes twice. */
export function longestGapMs({ longestMs }: PollSchedule): number {
  return longestMs + hourMs;
}

/** How far apart a target's turns can be, without anything going wrong. */
export function longestTurnMs({ schedule, intervalMs }: Scenario): number {
  return schedule === null ? intervalMs : schedule.longestMs;
}
