import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName } from "../fleet/model.ts";
import { subjectName, subjectsOf } from "../alerts/probe.ts";
import type { Schedule } from "../fleet/schedule.ts";
import { lookEveryMs } from "../notify/pipeline.ts";
import { repostEveryMs } from "../notify/receivers/alertmanager-alerts.ts";
import type { CronTimes } from "../lib/cron-times.ts";
import { intervalOf, timesOf } from "../polling/ticker.ts";
import { upkeepEveryMs } from "./upkeep.ts";
import type { Watchdog } from "./watchdog.ts";

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
    if (type === "alertmanager") watched.push(["deliveries", repostLoopName(name), repostEveryMs]);
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

/** The watchdog's name for the loop in which an Alertmanager receiver posts all alerts again. */
export function repostLoopName(receiver: string): string {
  return `${receiver} (alerts posted again)`;
}

/**
 * How long after a run at a moment the next one is due. Each unit runs at a phase of the round, less than
 * the shortest interval after the round began.
 */
function dueInOf(times: CronTimes, intervalMs: number): (ranAtMs: number) => number {
  const { shortestMs } = times.gaps;
  let round = { startMs: Infinity, nextMs: Infinity, afterNextMs: Infinity };
  return (ranAtMs) => {
    // Very many units run in the same round.
    if (ranAtMs < round.startMs || ranAtMs >= round.nextMs) round = roundAt(times, ranAtMs);
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
