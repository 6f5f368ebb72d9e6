import type { Config } from "./config/config.ts";
import { ailmentOf } from "./core/ailment.ts";
import type { ProbeVitals } from "./core/ailment.ts";
import { counted } from "./core/counted.ts";
import type { Clock } from "./platform/clock.ts";
import type { WatchedTarget } from "./polling/watched-target.ts";
import { StoreError } from "./store/store-error.ts";
import type { Store } from "./store/store.ts";
import type { Watchdog } from "./watchdog.ts";
import type { Readiness } from "./web/server.ts";

export interface VitalsDeps {
  readonly config: Config;
  readonly store: Store;
  readonly targets: readonly WatchedTarget[];
  readonly watchdog: Watchdog;
  readonly probes: readonly ProbeVitals[];
  readonly clock: Clock;
}

/**
 * What a heartbeat answers for: why sandwatch cannot be relied on now, null when it can. Rejects when
 * the store does not answer.
 */
export async function findAilment(deps: VitalsDeps): Promise<string | null> {
  const { config, store, targets, watchdog, clock } = deps;
  const silence = watchdog.silence();
  if (silence !== null) return silence;
  await store.check();
  const waiting = new Map((await store.told.waiting()).map((each) => [each.receiver, each]));
  const nowMs = clock.now().utcMs;
  const since = (atMs: number | null | undefined): number | null =>
    atMs === null || atMs === undefined ? null : nowMs - atMs;
  return ailmentOf({
    targets,
    probes: deps.probes,
    receivers: config.alerts.receivers
      .filter(({ type }) => type !== "heartbeat")
      .map(({ name, groupWaitMs, groupIntervalMs }) => ({
        groupingMs: groupWaitMs + groupIntervalMs,
        pendingForMs: since(waiting.get(name)?.oldestPendingMs),
        ungroupedForMs: since(waiting.get(name)?.oldestItemMs),
      })),
  });
}

/** What `/-/ready` answers. */
export async function checkReadiness(
  store: Store,
  targets: readonly WatchedTarget[],
  watchdog: Watchdog,
): Promise<Readiness> {
  const silence = watchdog.silence();
  if (silence !== null) return { ready: false, reason: silence };
  try {
    await store.check();
  } catch (error) {
    const reason = error instanceof StoreError ? error.message : "the store does not answer";
    return { ready: false, reason };
  }
  const waiting = targets.filter(({ polled }) => !polled).length;
  if (waiting > 0) {
    const reason = `the first poll of ${waiting} of ${targets.length} targets has not ended`;
    return { ready: false, reason };
  }
  const lost = targets.filter(({ lostPolls }) => lostPolls > 0).length;
  return lost === 0
    ? { ready: true }
    : {
        ready: false,
        reason: `the store did not accept the last poll of ${counted(lost, "target")}`,
      };
}
