import { formatDuration } from "../fleet/duration.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** The loops that must not fall silent. */
export const loopNames = ["polls", "probes", "deliveries", "upkeep"] as const;
export type LoopName = (typeof loopNames)[number];

export interface LoopView {
  readonly loop: LoopName;
  /** UTC milliseconds. */
  readonly lastTurnAtMs: number;
  readonly intervalMs: number;
}

/**
 * Notices that a loop has had no turn for longer than twice its usual interval. It trusts the monotonic
 * clock alone: what a loop takes for the time of its next turn may be what is wrong with it.
 */
export interface Watchdog {
  /**
   * @param name of what has the turns: a target, a probe, a receiver
   * @param intervalMs how far apart its turns usually are at most
   */
  watch(loop: LoopName, name: string, intervalMs: number): void;
  /** To be called where a turn begins and where it ends. */
  turn(loop: LoopName, name: string): void;
  /** From now on turns are expected. */
  start(): void;
  stop(): void;
  /** Which loop is silent, in a sentence; null: none. */
  silence(): string | null;
  /** Which loop has been silent for so long that a restart is the best that is left; null: none. */
  death(): string | null;
  /** Of each loop that is watched: of its parts the one whose turn is most overdue. */
  loops(): readonly LoopView[];
}

interface Watched {
  readonly loop: LoopName;
  readonly name: string;
  readonly intervalMs: number;
  /** Monotonic. */
  lastTurnMs: number;
}

const silentAfter = { times: 2, words: "twice" };
const deadAfter = { times: 10, words: "ten times" };

/** The timer may fire a moment early. */
const leastWaitMs = 1_000;

export function createWatchdog(clock: Clock, log: Pick<Logger, "error" | "info">): Watchdog {
  const watched = new Map<string, Watched>();
  const silent = new Set<LoopName>();
  let running = false;
  let cancel = (): void => {};

  const nowMs = (): number => clock.now().monotonicMs;
  const isOverdue = ({ lastTurnMs, intervalMs }: Watched, times: number): boolean =>
    running && nowMs() - lastTurnMs > times * intervalMs;

  const partsOf = (loop: LoopName): readonly Watched[] =>
    [...watched.values()].filter((each) => each.loop === loop);

  const describe = (loop: LoopName, after: typeof silentAfter): string | null => {
    const parts = partsOf(loop);
    const overdue = parts.filter((each) => isOverdue(each, after.times));
    const [first] = overdue;
    if (!first) return null;
    const which = parts.length === 1 ? "" : ` of ${overdue.length} of ${parts.length}, such as`;
    const whose = first.name === loop ? "" : `${which || " of"} ${first.name},`;
    return `loop ${loop} is silent: no run${whose} for more than ${after.words} the usual interval of ${formatDuration(first.intervalMs)}`;
  };

  const firstOf = (after: typeof silentAfter): string | null => {
    for (const loop of loopNames) {
      const sentence = describe(loop, after);
      if (sentence !== null) return sentence;
    }
    return null;
  };

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
    const waiting = [...watched.values()].filter((each) => !isOverdue(each, silentAfter.times));
    if (!running || waiting.length === 0) return;
    const overdueAtMs = waiting.reduce(
      (earliest, each) => Math.min(earliest, each.lastTurnMs + silentAfter.times * each.intervalMs),
      Infinity,
    );
    cancel = clock.setTimer(Math.max(overdueAtMs - nowMs(), leastWaitMs), check);
  };

  const turn = (loop: LoopName, name: string): void => {
    const each = watched.get(`${loop} ${name}`);
    if (!each) return;
    each.lastTurnMs = nowMs();
    if (silent.has(loop)) check();
  };

  return {
    watch(loop, name, intervalMs) {
      watched.set(`${loop} ${name}`, { loop, name, intervalMs, lastTurnMs: nowMs() });
    },
    turn,
    start() {
      running = true;
      for (const each of watched.values()) each.lastTurnMs = nowMs();
      check();
    },
    stop() {
      running = false;
      cancel();
    },
    silence: () => firstOf(silentAfter),
    death: () => firstOf(deadAfter),
    loops() {
      const { utcMs, monotonicMs } = clock.now();
      const share = (each: Watched): number => (monotonicMs - each.lastTurnMs) / each.intervalMs;
      return loopNames.flatMap((loop): LoopView[] => {
        const parts = partsOf(loop);
        if (!running || parts.length === 0) return [];
        const worst = parts.reduce((a, b) => (share(b) > share(a) ? b : a));
        const lastTurnAtMs = utcMs - (monotonicMs - worst.lastTurnMs);
        return [{ loop, lastTurnAtMs, intervalMs: worst.intervalMs }];
      });
    },
  };
}
