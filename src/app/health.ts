import type { Config } from "../config/config.ts";
import { counted } from "../fleet/text.ts";
import type { Clock } from "../lib/clock.ts";
import type { WatchedProbe } from "../polling/watched-probe.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { PostgresError } from "../store/postgres/session.ts";
import { StoreError } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";
import type { Watchdog } from "./watchdog.ts";
import type { Readiness } from "../web/health-routes.ts";

export type TargetHealth = Pick<WatchedTarget, "polled" | "lostPolls"> &
  Partial<Pick<WatchedTarget, "lostBecause">>;
type ProbeHealth = Pick<WatchedProbe, "lostRuns">;

/** Of a receiver that is notified of incidents. */
export interface ReceiverHealth {
  /** How long a group of it may wait until it becomes a notification. Milliseconds. */
  readonly groupingMs: number;
  /** How long its oldest notification has been tried; null: none is. */
  readonly pendingForMs: number | null;
  /** How long the oldest item that is in no notification yet has waited; null: there is none. */
  readonly ungroupedForMs: number | null;
}

interface HealthDeps {
  readonly config: Config;
  readonly store: Store;
  readonly targets: readonly TargetHealth[];
  readonly probes: readonly ProbeHealth[];
  readonly watchdog: Pick<Watchdog, "silentLoop">;
  readonly clock: Clock;
  /** It has taken over, and was ready before: a load balancer must not drop it until its first polls have ended. */
  readonly tookOver: boolean;
}

/** What `/-/ready` and heartbeats say of this process. */
export function createHealth(deps: HealthDeps) {
  const { config, store, targets, probes, clock, tookOver } = deps;
  return {
    /**
     * Why no heartbeat may be sent now: sandwatch would not notice an error, or could not notify anyone of it. Null: it
     * would. An outage of the service is no such problem. Rejects when the store does not answer.
     */
    async problem(): Promise<string | null> {
      const idle = idleProblem(deps);
      if (idle !== null) return idle;
      await store.check();
      const waiting = new Map((await store.outbox.waiting()).map((each) => [each.receiver, each]));
      const nowMs = clock.now().utcMs;
      const since = (atMs: number | null = null): number | null =>
        atMs === null ? null : nowMs - atMs;
      const receivers = config.alerts.receivers
        .filter(({ type }) => type !== "heartbeat")
        .map(({ name, groupWaitMs, groupIntervalMs }) => ({
          groupingMs: groupWaitMs + groupIntervalMs,
          pendingForMs: since(waiting.get(name)?.oldestPendingMs),
          ungroupedForMs: since(waiting.get(name)?.oldestItemMs),
        }));
      return healthProblemOf(targets, probes, receivers);
    },
    async readiness(): Promise<Readiness> {
      try {
        const idle = idleProblem(deps);
        if (idle === null) await store.check();
        const judged = tookOver ? targets.filter(({ polled }) => polled) : targets;
        const reason = idle ?? targetProblemOf(judged);
        return reason === null ? { ready: true } : { ready: false, reason };
      } catch (error) {
        return { ready: false, reason: reasonOf(error) };
      }
    },
  };
}

/** Why this process does nothing, or too little, whatever the store answers. */
function idleProblem({ watchdog, store }: Pick<HealthDeps, "watchdog" | "store">): string | null {
  if (store.leadership.mayAct()) return watchdog.silentLoop();
  return "PostgreSQL has not confirmed in time that this process is active, so it neither polls nor delivers until it has";
}

function reasonOf(error: unknown, otherwise = "the store does not answer"): string {
  const isOfStore = error instanceof StoreError || error instanceof PostgresError;
  return isOfStore ? error.message : otherwise;
}

/** A receiver for which something waits longer does not accept notifications. */
const longestDelayMs = 15 * 60_000;

export function healthProblemOf(
  targets: readonly TargetHealth[],
  probes: readonly ProbeHealth[],
  receivers: readonly ReceiverHealth[],
): string | null {
  const problem = targetProblemOf(targets);
  if (problem !== null) return problem;
  const lost = probes.filter(({ lostRuns }) => lostRuns > 0).length;
  if (lost > 0)
    return `the store did not accept the last run of ${lost} of ${counted(probes.length, "probe")}`;
  const isStuck = ({ groupingMs, pendingForMs, ungroupedForMs }: ReceiverHealth): boolean =>
    (pendingForMs ?? 0) > longestDelayMs || (ungroupedForMs ?? 0) > longestDelayMs + groupingMs;
  const areStuck = receivers.length > 0 && receivers.every(isStuck);
  return areStuck ? "no receiver accepts notifications" : null;
}

function targetProblemOf(targets: readonly TargetHealth[]): string | null {
  const waiting = targets.filter(({ polled }) => !polled).length;
  if (waiting > 0)
    return `the first poll of ${waiting} of ${counted(targets.length, "target")} has not ended`;
  const lost = targets.filter(({ lostPolls }) => lostPolls > 0);
  if (lost.length === 0) return null;
  const why = lost.map(({ lostBecause }) => reasonOf(lostBecause, "")).find((each) => each !== "");
  const what = `the store did not accept the last poll of ${lost.length} of ${counted(targets.length, "target")}`;
  return why === undefined ? what : `${what}: ${why}`;
}
