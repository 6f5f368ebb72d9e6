import { formatDuration } from "../fleet/text.ts";
import type { Clock, LastRuns } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName } from "../fleet/model.ts";
import { subjectName, subjectsOf } from "../alerts/probe.ts";
import type { Schedule } from "../fleet/schedule.ts";
import { lookEveryMs } from "../notify/pipeline.ts";
import { repostEveryMs, repostName } from "../notify/receivers/alertmanager-alerts.ts";
import type { CronTimes } from "../lib/cron-times.ts";
import { intervalOf, timesOf } from "../polling/ticker.ts";
import { upkeepEveryMs } from "./upkeep.ts";

/** The loops that the watchdog monitors. */
const loopNames = ["polls", "probes", "deliveries", "upkeep"] as const;
export type LoopName = (typeof loopNames)[number];

interface Watched {
  readonly loop: LoopName;
  readonly name: string;
  readonly intervalMs: number;
  readonly dueInMs: (ranAtMs: number) => number;
  /** The last run, or since when runs are expected. Monotonic. */
  lastRunMs: number;
  /** Monotonic. */
  nextRunMs: number;
}

/** How many usual intervals a run is overdue. `words` counts from the previous run, so one interval more. */
const silentAfter = { lateBy: 1, words: "twice" };
const deadAfter = { lateBy: 9, words: "ten times" };

/** How soon a loop that was silent is noticed to run again. */
const lookAgainMs = 10_000;

/** The timer may fire a moment early. */
const leastWaitMs = 1_000;

/**
 * Reports a loop whose next run is overdue by more than the usual interval. It uses the monotonic clock, and computes
 * itself when a run is due, as a faulty loop may be wrong about that.
 */
export class Watchdog {
  private readonly clock: Clock;
  private readonly log: Pick<Logger, "error" | "info">;
  private readonly runs: LastRuns;
  private readonly watched = new Map<string, Watched>();
  private readonly silent = new Set<LoopName>();
  private running = false;
  private cancel = (): void => {};

  constructor(clock: Clock, log: Pick<Logger, "error" | "info">, runs: LastRuns) {
    this.clock = clock;
    this.log = log;
    this.runs = runs;
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
    this.takeRuns();
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

  /** Takes what ran since the last time, each run once: there may be very many loops. */
  private takeRuns(): void {
    for (const [key, { utcMs, monotonicMs }] of this.runs) {
      const each = this.watched.get(key);
      if (!each || monotonicMs < each.lastRunMs) continue;
      each.lastRunMs = monotonicMs;
      each.nextRunMs = monotonicMs + each.dueInMs(utcMs);
    }
    this.runs.clear();
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
    this.takeRuns();
    return (
      loopNames.map((loop) => this.describe(loop, after)).find((sentence) => sentence !== null) ??
      null
    );
  }

  private check(): void {
    this.cancel();
    this.takeRuns();
    for (const loop of loopNames) {
      const sentence = this.describe(loop, silentAfter);
      if (sentence !== null && !this.silent.has(loop)) {
        this.silent.add(loop);
        this.log.error({ event: "loop.silent", loop }, sentence);
      } else if (sentence === null && this.silent.delete(loop)) {
        this.log.info({ event: "loop.recovered", loop }, `loop ${loop} runs again`);
      }
    }
    if (!this.running) return;
    const nowMs = this.nowMs();
    // What is overdue may run again.
    const lookAtMs = ({ intervalMs, nextRunMs }: Watched): number => {
      const overdueAtMs = nextRunMs + silentAfter.lateBy * intervalMs;
      return overdueAtMs < nowMs ? nowMs + lookAgainMs : overdueAtMs;
    };
    const dueMs = this.watched
      .values()
      .map(lookAtMs)
      .reduce((earliest, each) => Math.min(earliest, each), Infinity);
    if (dueMs === Infinity) return;
    this.cancel = this.clock.setTimer(Math.max(dueMs - nowMs, leastWaitMs), () => this.check());
  }

  /** Not at once for each of very many that are watched together. */
  private checkSoon(): void {
    if (!this.running) return;
    this.cancel();
    this.cancel = this.clock.setTimer(leastWaitMs, () => this.check());
  }
}

/** What `Watchdog.watch` takes. */
type WatchedLoop = Parameters<Watchdog["watch"]>;

/** The loops of the daemon. They follow from the configuration, as a loop may be wrong about when it is due. */
export function loopsOf(config: Config): readonly WatchedLoop[] {
  const ofSchedule = <Place>(
    loop: "polls" | "probes",
    schedule: Schedule,
    places: readonly Place[],
    nameOf: (place: Place) => string,
  ) => {
    // A run may take as long as its request.
    const intervalMs = Math.max(intervalOf(schedule), config.poll.timeoutMs);
    const dueInMs = schedule.kind === "cron" ? dueInOf(timesOf(schedule), intervalMs) : undefined;
    return places.map((place): WatchedLoop => [loop, nameOf(place), intervalMs, dueInMs]);
  };
  const ofReceivers = config.alerts.receivers.flatMap(({ name, type }) => {
    const watched: WatchedLoop[] = [];
    if (type !== "heartbeat") watched.push(["deliveries", name, lookEveryMs]);
    if (type === "alertmanager") watched.push(["deliveries", repostName(name), repostEveryMs]);
    return watched;
  });
  return [
    ["upkeep", "upkeep", upkeepEveryMs],
    ...ofSchedule("polls", config.poll.schedule, configuredTargets(config), targetName),
    ...config.probes.flatMap((probe) =>
      ofSchedule("probes", probe.schedule, subjectsOf(probe), subjectName),
    ),
    ...ofReceivers,
  ];
}

/**
 * How long after a run at a moment the next one is due. Each unit runs at a phase of the round, less than
 * the shortest interval after the round began.
 */
function dueInOf(times: CronTimes, intervalMs: number): (ranAtMs: number) => number {
  const shortestMs = times.intervalMs;
  let rounds: readonly ReturnType<typeof roundAt>[] = [];
  return (ranAtMs) => {
    // Very many units run in the same round, or in the one before it.
    const known = rounds.find(({ startMs, nextMs }) => ranAtMs >= startMs && ranAtMs < nextMs);
    const round = known ?? roundAt(times, ranAtMs);
    if (!known) rounds = [round, ...rounds.slice(0, 1)];
    const { startMs, nextMs, afterNextMs } = round;
    // Right after the start a round that follows too closely is passed over (see `createScheduler`).
    const mayBePassedOver = nextMs - ranAtMs < shortestMs / 2 && afterNextMs - nextMs > intervalMs;
    const phaseMs = Math.min(ranAtMs - startMs, shortestMs);
    return Math.max(intervalMs, (mayBePassedOver ? afterNextMs : nextMs) + phaseMs - ranAtMs);
  };
}

/** The round that a moment lies in, and when the two after it begin. UTC milliseconds. */
function roundAt(times: CronTimes, atMs: number) {
  const nextMs = times.next(atMs) ?? Infinity;
  const afterNextMs = nextMs < Infinity ? (times.next(nextMs) ?? Infinity) : Infinity;
  return { startMs: times.latest(atMs) ?? -Infinity, nextMs, afterNextMs };
}
