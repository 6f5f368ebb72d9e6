import { formatDuration } from "../fleet/duration.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** The loops that must not fall silent. */
const loopNames = ["polls", "probes", "deliveries", "upkeep"] as const;
type LoopName = (typeof loopNames)[number];

interface Watched {
  readonly loop: LoopName;
  readonly name: string;
  readonly intervalMs: number;
  readonly dueInMs: (turnAtMs: number) => number;
  /** Monotonic. */
  lastTurnMs: number;
  /** Monotonic. */
  nextTurnMs: number;
}

/** By how many usual intervals a turn is late; the interval before it was due makes one more. */
const silentAfter = { lateBy: 1, words: "twice" };
const deadAfter = { lateBy: 9, words: "ten times" };

/** The timer may fire a moment early. */
const leastWaitMs = 1_000;

export type Watchdog = ReturnType<typeof createWatchdog>;

/**
 * Notices that the next turn of a loop is late by more than the usual interval: of a loop with even turns, that there
 * was none for longer than twice that interval. It measures on the monotonic clock, and does not ask a loop when its
 * next turn is: that may be what is wrong with it.
 */
export function createWatchdog(clock: Clock, log: Pick<Logger, "error" | "info">) {
  const watched = new Map<string, Watched>();
  const silent = new Set<LoopName>();
  let running = false;
  let cancel = (): void => {};

  const nowMs = (): number => clock.now().monotonicMs;
  const isOverdue = ({ nextTurnMs, intervalMs }: Watched, lateBy: number): boolean =>
    running && nowMs() - nextTurnMs > lateBy * intervalMs;

  const partsOf = (loop: LoopName): readonly Watched[] =>
    [...watched.values()].filter((each) => each.loop === loop);

  const describe = (loop: LoopName, after: typeof silentAfter): string | null => {
    const parts = partsOf(loop);
    const overdue = parts.filter((each) => isOverdue(each, after.lateBy));
    const [first] = overdue;
    if (!first) return null;
    const which = parts.length === 1 ? "" : ` of ${overdue.length} of ${parts.length}, such as`;
    const whose = first.name === loop ? "" : `${which || " of"} ${first.name},`;
    return `loop ${loop} is silent: no run${whose} for more than ${after.words} the usual interval of ${formatDuration(first.intervalMs)}`;
  };

  const firstOf = (after: typeof silentAfter): string | null =>
    loopNames.map((loop) => describe(loop, after)).find((sentence) => sentence !== null) ?? null;

  const check = (): void => {
    cancel();
    for (const loop of loopNames) {
      const sentence = describe(loop, silentAfter);
      if (sentence !== null && !silent.has(loop)) {
        silent.add(loop);
        log.error({ event: "loop.silent", loop }, sentence);
      } else if (sentence === null && silent.delete(loop)) {
        log.info({ event: "loop.recovered", loop }, `loop ${loop} runs again`);
      }
    }
    const waiting = [...watched.values()].filter((each) => !isOverdue(each, silentAfter.lateBy));
    if (!running || waiting.length === 0) return;
    const overdueAtMs = waiting
      .map(({ nextTurnMs, intervalMs }) => nextTurnMs + silentAfter.lateBy * intervalMs)
      .reduce((earliest, each) => Math.min(earliest, each));
    cancel = clock.setTimer(Math.max(overdueAtMs - nowMs(), leastWaitMs), check);
  };

  /** To be called where a turn begins and where it ends. */
  const turn = (loop: LoopName, name: string): void => {
    const each = watched.get(`${loop} ${name}`);
    if (!each) return;
    const { utcMs, monotonicMs } = clock.now();
    each.lastTurnMs = monotonicMs;
    each.nextTurnMs = monotonicMs + each.dueInMs(utcMs);
    if (silent.has(loop)) check();
  };

  return {
    /**
     * @param name of what has the turns: a target, a probe, a receiver
     * @param intervalMs how far apart its turns usually are
     * @param dueInMs how long after a turn at a moment (UTC milliseconds) the next one is due; default: the usual interval
     */
    watch(
      loop: LoopName,
      name: string,
      intervalMs: number,
      dueInMs: (turnAtMs: number) => number = () => intervalMs,
    ): void {
      const times = { lastTurnMs: nowMs(), nextTurnMs: nowMs() + intervalMs };
      watched.set(`${loop} ${name}`, { loop, name, intervalMs, dueInMs, ...times });
    },
    turn,
    /** From now on turns are expected. */
    start(): void {
      running = true;
      for (const each of watched.values()) {
        each.lastTurnMs = nowMs();
        // Every loop has its first turn soon after the start, also while its schedule pauses.
        each.nextTurnMs = nowMs() + each.intervalMs;
      }
      check();
    },
    stop(): void {
      running = false;
      cancel();
    },
    /** Which loop is silent, in a sentence; null: none. */
    silence: () => firstOf(silentAfter),
    /** Which loop has been silent for so long that a restart is the best that is left; null: none. */
    death: () => firstOf(deadAfter),
    /** Of each loop that is watched the part whose turn is most overdue. UTC milliseconds. */
    loops() {
      const { utcMs, monotonicMs } = clock.now();
      const behindMs = utcMs - monotonicMs;
      const lateBy = (each: Watched): number => (monotonicMs - each.nextTurnMs) / each.intervalMs;
      return loopNames.flatMap((loop) => {
        const parts = partsOf(loop);
        if (!running || parts.length === 0) return [];
        const worst = parts.reduce((a, b) => (lateBy(b) > lateBy(a) ? b : a));
        const { intervalMs } = worst;
        const lastTurnAtMs = worst.lastTurnMs + behindMs;
        return { loop, lastTurnAtMs, nextTurnAtMs: worst.nextTurnMs + behindMs, intervalMs };
      });
    },
  };
}
