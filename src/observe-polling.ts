import type { Metrics } from "./metrics/metrics.ts";
import type { Logger } from "./platform/logger.ts";
import type { PollingObserver } from "./polling/polling.ts";
import { createPollingLog } from "./polling/polling-log.ts";

/** Each of what polling does, counted and logged. */
export function observePolling(metrics: Metrics, log: Logger): PollingObserver {
  const lines = createPollingLog(log);
  return {
    ...lines,
    turnFailed(target, error) {
      metrics.targets.turnFailed();
      lines.turnFailed(target, error);
    },
    polled(target, failure, durationMs) {
      metrics.targets.polled(target, failure?.reason ?? null, durationMs);
      lines.polled(target, failure, durationMs);
    },
    async committed(watched, verdict, durationMs) {
      metrics.targets.committed(durationMs);
      metrics.sandboxes.committed(watched, verdict);
      await lines.committed(watched, verdict, durationMs);
    },
  };
}
