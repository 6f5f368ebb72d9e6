import { formatDuration } from "../fleet/text.ts";
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

/**
 * Reports a loop whose next run is overdue by more than the usual interval. It uses the monotonic clock, and computes
 * itself when a run is due, as a faulty loop may be wrong about that.
 */
export class Watchdog {
  private readonly clock: Clock;
  private readonly log: Pick<Logger, "error" | "info">;
  private readonly watched = new Map<string, Watched>();
  private readonly silent = new Set<LoopName>();
  private running = false;
  private cancel = (): void => {};

  constructor(clock: Clock, log: Pick<Logger, "error" | "info">) {
    this.clock = clock;
    this.log = log;
  }

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
    const times = { lastRunMs: this.nowMs(), nextRunMs: this.nowMs() + intervalMs };
    this.watched.set(`${loop} ${name}`, { loop, name, intervalMs, dueInMs, ...times });
    this.checkSoon();
  }

  /** From now on runs are expected. */
  start(): void {
    this.running = true;
    for (const each of this.watched.values()) {
      each.lastRunMs = this.nowMs();
      // Every loop runs for the first time soon after the start, also while its schedule pauses.
      each.nextRunMs = this.nowMs() + each.intervalMs;
    }
    this.check();
  }

  stop(): void {
    this.running = false;
    this.cancel();
  }

  /** Which loop is silent, in a sentence; null: none. */
  silentLoop(): string | null {
    return this.firstOf(silentAfter);
  }

  /** Which loop has been silent for so long that the process should be restarted, in a sentence; null: none. */
  deadLoop(): string | null {
    return this.firstOf(deadAfter);
  }

  /** The most overdue part of each loop. UTC milliseconds. */
  loops() {
    const { utcMs, monotonicMs } = this.clock.now();
    const behindMs = utcMs - monotonicMs;
    const lateBy = (each: Watched): number => (monotonicMs - each.nextRunMs) / each.intervalMs;
    return loopNames.flatMap((loop) => {
      const parts = this.partsOf(loop);
      if (!this.running || parts.length === 0) return [];
      const worst = parts.reduce((a, b) => (lateBy(b) > lateBy(a) ? b : a));
      const { intervalMs } = worst;
      const lastRunAtMs = worst.lastRunMs + behindMs;
      return { loop, lastRunAtMs, nextRunAtMs: worst.nextRunMs + behindMs, intervalMs };
    });
  }

  private nowMs(): number {
    return this.clock.now().monotonicMs;
  }

  private isOverdue({ nextRunMs, intervalMs }: Watched, lateBy: number): boolean {
    return this.running && this.nowMs() - nextRunMs > lateBy * intervalMs;
  }

  private partsOf(loop: LoopName): readonly Watched[] {
    return [...this.watched.values()].filter((each) => each.loop === loop);
  }

  private describe(loop: LoopName, after: typeof silentAfter): string | null {
    const parts = this.partsOf(loop);
    const overdue = parts.filter((each) => this.isOverdue(each, after.lateBy));
    const [first] = overdue;
    if (!first) return null;
    const which = parts.length === 1 ? "" : ` of ${overdue.length} of ${parts.length}, such as`;
    const whose = first.name === loop ? "" : `${which || " of"} ${first.name},`;
    return `loop ${loop} is silent: no run${whose} for more than ${after.words} the usual interval of ${formatDuration(first.intervalMs)}`;
  }

  private firstOf(after: typeof silentAfter): string | null {
    return (
      loopNames.map((loop) => this.describe(loop, after)).find((sentence) => sentence !== null) ??
      null
    );
  }

  private check(): void {
    this.cancel();
    for (const loop of loopNames) {
      const sentence = this.describe(loop, silentAfter);
      if (sentence !== null && !this.silent.has(loop)) {
        this.silent.add(loop);
        this.log.error({ event: "loop.silent", loop }, sentence);
      } else if (sentence === null && this.silent.delete(loop)) {
        this.log.info({ event: "loop.recovered", loop }, `loop ${loop} runs again`);
      }
    }
    const waiting = [...this.watched.values()].filter(
      (each) => !this.isOverdue(each, silentAfter.lateBy),
    );
    if (!this.running || waiting.length === 0) return;
    const overdueAtMs = waiting
      .map(({ nextRunMs, intervalMs }) => nextRunMs + silentAfter.lateBy * intervalMs)
      .reduce((earliest, each) => Math.min(earliest, each));
    this.cancel = this.clock.setTimer(Math.max(overdueAtMs - this.nowMs(), leastWaitMs), () =>
      this.check(),
    );
  }

  /** Call it when a run begins and when it ends. */
  noteRun(loop: LoopName, name: string): void {
    const each = this.watched.get(`${loop} ${name}`);
    if (!each) return;
    const { utcMs, monotonicMs } = this.clock.now();
    each.lastRunMs = monotonicMs;
    each.nextRunMs = monotonicMs + each.dueInMs(utcMs);
    if (this.silent.has(loop)) this.check();
  }

  /** Not at once for each of very many that are watched together. */
  private checkSoon(): void {
    if (!this.running) return;
    this.cancel();
    this.cancel = this.clock.setTimer(leastWaitMs, () => this.check());
  }
}
