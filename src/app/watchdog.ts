import { formatDuration } from "../fleet/duration.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** The loops that the watchdog monitors. */
const loopNames = ["polls", "probes", "deliveries", "upkeep"] as const;
export type LoopName = (typeof loopNames)[number];

interface Watched {
  readonly loop: LoopName;
  readonly name: string;
  readonly intervalMs: number;
  readonly dueInMs: (ranAtMs: number) => number;
  /** Monotonic. */
  lastRunMs: number;
  /** Monotonic. */
  nextRunMs: number;
}

/** How many usual intervals a run is overdue. `words` counts from the previous run, so one interval more. */
const silentAfter = { lateBy: 1, words: "twice" };
const deadAfter = { lateBy: 9, words: "ten times" };

/** The timer may fire a moment early. */
const leastWaitMs = 1_000;

export type Watchdog = ReturnType<typeof createWatchdog>;

/**
 * Reports a loop whose next run is overdue by more than the usual interval. It uses the monotonic clock, and computes
 * itself when a run is due, as a faulty loop may be wrong about that.
 */
export function createWatchdog(clock: Clock, log: Pick<Logger, "error" | "info">) {
  const watched = new Map<string, Watched>();
  const silent = new Set<LoopName>();
  let running = false;
  let cancel = (): void => {};

  const nowMs = (): number => clock.now().monotonicMs;
  const isOverdue = ({ nextRunMs, intervalMs }: Watched, lateBy: number): boolean =>
    running && nowMs() - nextRunMs > lateBy * intervalMs;

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
      .map(({ nextRunMs, intervalMs }) => nextRunMs + silentAfter.lateBy * intervalMs)
      .reduce((earliest, each) => Math.min(earliest, each));
    cancel = clock.setTimer(Math.max(overdueAtMs - nowMs(), leastWaitMs), check);
  };

  /** Call it when a run begins and when it ends. */
  const noteRun = (loop: LoopName, name: string): void => {
    const each = watched.get(`${loop} ${name}`);
    if (!each) return;
    const { utcMs, monotonicMs } = clock.now();
    each.lastRunMs = monotonicMs;
    each.nextRunMs = monotonicMs + each.dueInMs(utcMs);
    if (silent.has(loop)) check();
  };

  /** Not at once for each of very many that are watched together. */
  const checkSoon = (): void => {
    if (!running) return;
    cancel();
    cancel = clock.setTimer(leastWaitMs, check);
  };

  return {
    /**
     * @param name of what runs: a target, a probe, a receiver
     * @param intervalMs how far apart its runs usually are
     * @param dueInMs how long after a run at a moment (UTC milliseconds) the next one is due; default: the usual interval
     */
    watch(
      loop: LoopName,
      name: string,
      intervalMs: number,
      dueInMs: (ranAtMs: number) => number = () => intervalMs,
    ): void {
      const times = { lastRunMs: nowMs(), nextRunMs: nowMs() + intervalMs };
      watched.set(`${loop} ${name}`, { loop, name, intervalMs, dueInMs, ...times });
      checkSoon();
    },
    noteRun,
    /** From now on runs are expected. */
    start(): void {
      running = true;
      for (const each of watched.values()) {
        each.lastRunMs = nowMs();
        // Every loop runs for the first time soon after the start, also while its schedule pauses.
        each.nextRunMs = nowMs() + each.intervalMs;
      }
      check();
    },
    stop(): void {
      running = false;
      cancel();
    },
    /** Which loop is silent, in a sentence; null: none. */
    silentLoop: () => firstOf(silentAfter),
    /** Which loop has been silent for so long that the process should be restarted, in a sentence; null: none. */
    deadLoop: () => firstOf(deadAfter),
    /** The most overdue part of each loop. UTC milliseconds. */
    loops() {
      const { utcMs, monotonicMs } = clock.now();
      const behindMs = utcMs - monotonicMs;
      const lateBy = (each: Watched): number => (monotonicMs - each.nextRunMs) / each.intervalMs;
      return loopNames.flatMap((loop) => {
        const parts = partsOf(loop);
        if (!running || parts.length === 0) return [];
        const worst = parts.reduce((a, b) => (lateBy(b) > lateBy(a) ? b : a));
        const { intervalMs } = worst;
        const lastRunAtMs = worst.lastRunMs + behindMs;
        return { loop, lastRunAtMs, nextRunAtMs: worst.nextRunMs + behindMs, intervalMs };
      });
    },
  };
}
