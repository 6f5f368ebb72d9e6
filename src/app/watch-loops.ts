import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName } from "../fleet/model.ts";
import { subjectName, subjectsOf } from "../alerts/probe.ts";
import type { Schedule } from "../fleet/schedule.ts";
import { lookEveryMs } from "../notify/pipeline.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { longestIntervalOf } from "../polling/ticker.ts";
import { upkeepEveryMs } from "./upkeep.ts";
import { createWatchdog } from "./watchdog.ts";
import type { Watchdog } from "./watchdog.ts";

/**
 * A watchdog over every loop of the daemon. How often turns usually come is taken from the
 * configuration, not from what starts them.
 */
export function watchLoops(
  config: Config,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Watchdog {
  const watchdog = createWatchdog(clock, log);
  // A turn may take as long as its request.
  const usualMs = (schedule: Schedule): number =>
    Math.max(longestIntervalOf(schedule), config.poll.timeoutMs);
  for (const target of configuredTargets(config)) {
    watchdog.watch("polls", targetName(target), usualMs(config.poll.schedule));
  }
  for (const probe of config.probes) {
    for (const subject of subjectsOf(probe)) {
      watchdog.watch("probes", subjectName(subject), usualMs(probe.schedule));
    }
  }
  for (const { name, type } of config.alerts.receivers) {
    if (type !== "heartbeat") watchdog.watch("deliveries", name, lookEveryMs);
  }
  watchdog.watch("upkeep", "upkeep", upkeepEveryMs);
  return watchdog;
}
