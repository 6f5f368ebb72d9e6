import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName } from "../fleet/model.ts";
import { subjectName, subjectsOf } from "../alerts/probe.ts";
import type { Schedule } from "../fleet/schedule.ts";
import { lookEveryMs } from "../notify/pipeline.ts";
import { repostEveryMs } from "../notify/receivers/alertmanager-alerts.ts";
import type { Clock } from "../lib/clock.ts";
import type { CronTimes } from "../lib/cron-times.ts";
import type { Logger } from "../lib/logger.ts";
import { intervalOf, timesOf } from "../polling/ticker.ts";
import { upkeepEveryMs } from "./upkeep.ts";
import { createWatchdog } from "./watchdog.ts";
import type { Watchdog } from "./watchdog.ts";

/** A watchdog over every loop of the daemon. It learns from the configuration when turns are due, not from the loops. */
export function watchLoops(
  config: Config,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Logger, "error" | "info"> },
): Watchdog {
  const watchdog = createWatchdog(clock, log);
  // A turn may take as long as its request.
  const usualMs = (schedule: Schedule): number =>
    Math.max(intervalOf(schedule), config.poll.timeoutMs);
  const watchScheduled = (
    loop: "polls" | "probes",
    names: readonly string[],
    schedule: Schedule,
  ): void => {
    const intervalMs = usualMs(schedule);
    const dueInMs = schedule.kind === "cron" ? dueInOf(timesOf(schedule), intervalMs) : undefined;
    for (const name of names) watchdog.watch(loop, name, intervalMs, dueInMs);
  };
  watchScheduled("polls", configuredTargets(config).map(targetName), config.poll.schedule);
  for (const probe of config.probes) {
    watchScheduled("probes", subjectsOf(probe).map(subjectName), probe.schedule);
  }
  for (const { name, type } of config.alerts.receivers) {
    if (type !== "heartbeat") watchdog.watch("deliveries", name, lookEveryMs);
    if (type === "alertmanager") watchdog.watch("deliveries", repostLoopName(name), repostEveryMs);
  }
  watchdog.watch("upkeep", "upkeep", upkeepEveryMs);
  return watchdog;
}

/** The watchdog's name for the loop in which an Alertmanager receiver posts all alerts again. */
export function repostLoopName(receiver: string): string {
  return `${receiver} (alerts posted again)`;
}

/**
 * How long after a turn at a moment the next one is due. Each unit has its turn at a phase of the round, less than
 * the shortest interval after the round began.
 */
function dueInOf(times: CronTimes, intervalMs: number): (turnAtMs: number) => number {
  const { shortestMs } = times.gaps;
  let round = { startMs: Infinity, nextMs: Infinity, afterNextMs: Infinity };
  return (turnAtMs) => {
    // Very many units have their turns in the same round.
    if (turnAtMs < round.startMs || turnAtMs >= round.nextMs) round = roundAt(times, turnAtMs);
    const { startMs, nextMs, afterNextMs } = round;
    // Right after the start a round that follows too closely is passed over (see `createScheduler`).
    const mayBePassedOver = nextMs - turnAtMs < shortestMs / 2 && afterNextMs - nextMs > intervalMs;
    const phaseMs = Math.min(turnAtMs - startMs, shortestMs);
    return Math.max(intervalMs, (mayBePassedOver ? afterNextMs : nextMs) + phaseMs - turnAtMs);
  };
}

/** The round that a moment lies in, and when the two after it begin. UTC milliseconds. */
function roundAt(times: CronTimes, atMs: number) {
  const nextMs = times.next(atMs) ?? Infinity;
  const afterNextMs = nextMs < Infinity ? (times.next(nextMs) ?? Infinity) : Infinity;
  return { startMs: times.latest(atMs) ?? -Infinity, nextMs, afterNextMs };
}
