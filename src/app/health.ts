import type { Config } from "../config/config.ts";
import { counted } from "../fleet/counted.ts";
import type { Clock } from "../lib/clock.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { StoreError } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";
import type { Watchdog } from "./watchdog.ts";
import type { Readiness } from "../web/server.ts";

/** What decides whether an outside monitor can rely on sandwatch. An outage of the service does not. */
export interface Health {
  readonly targets: readonly TargetHealth[];
  readonly probes: readonly ProbeHealth[];
  /** Those that are notified of incidents. */
  readonly receivers: readonly ReceiverHealth[];
}

export interface TargetHealth {
  /** Whether a poll of it ended since the start, whatever its outcome. */
  readonly polled: boolean;
  /** Polls in a row that the store did not accept. */
  readonly lostPolls: number;
}

export interface ProbeHealth {
  /** Runs in a row that the store did not accept. */
  readonly lostRuns: number;
}

export interface ReceiverHealth {
  /** How long a group of it may wait until it becomes a notification. Milliseconds. */
  readonly groupingMs: number;
  /** How long its oldest notification has been tried; null: none is. */
  readonly pendingForMs: number | null;
  /** How long the oldest item that is in no notification yet has waited; null: there is none. */
  readonly ungroupedForMs: number | null;
}

export interface HealthDeps {
  readonly config: Config;
  readonly store: Store;
  readonly targets: readonly WatchedTarget[];
  readonly watchdog: Watchdog;
  readonly probes: readonly ProbeHealth[];
  readonly clock: Clock;
}

/**
 * Why no heartbeat may be sent now: sandwatch cannot be relied on. Null: it can. Rejects when the store does not
 * answer.
 */
export async function findHealthProblem(deps: HealthDeps): Promise<string | null> {
  const { config, store, targets, watchdog, clock } = deps;
  const silence = watchdog.silence();
  if (silence !== null) return silence;
  await store.check();
  const waiting = new Map((await store.outbox.waiting()).map((each) => [each.receiver, each]));
  const nowMs = clock.now().utcMs;
  const since = (atMs: number | null | undefined): number | null =>
    atMs === null || atMs === undefined ? null : nowMs - atMs;
  return healthProblemOf({
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

/** A receiver for which something waits longer does not accept notifications. */
const longestDelayMs = 15 * 60_000;

/** Why sandwatch would not notice an error, or could not notify anyone of it; null: it would. */
export function healthProblemOf({ targets, probes, receivers }: Health): string | null {
  const count = (number: number): string => `${number} of ${targets.length} targets`;
  const lost = targets.filter(({ lostPolls }) => lostPolls > 0).length;
  if (lost > 0) return `the store did not accept the last poll of ${count(lost)}`;
  const unpolled = targets.filter(({ polled }) => !polled).length;
  if (unpolled > 0) return `the first poll of ${count(unpolled)} has not ended`;
  const unkept = probes.filter(({ lostRuns }) => lostRuns > 0).length;
  if (unkept > 0)
    return `the store did not accept the last run of ${unkept} of ${probes.length} probes`;
  return receivers.length > 0 && receivers.every(isStuck)
    ? "no receiver accepts notifications"
    : null;
}

function isStuck({ groupingMs, pendingForMs, ungroupedForMs }: ReceiverHealth): boolean {
  return (
    (pendingForMs ?? 0) > longestDelayMs || (ungroupedForMs ?? 0) > longestDelayMs + groupingMs
  );
}
