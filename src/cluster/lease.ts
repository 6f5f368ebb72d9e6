import type { Clock } from "../lib/clock.ts";
import type { ClusterView } from "../fleet/replicas.ts";
import type { ReplicaStore } from "./replica-store.ts";

/** A replica stops before the others may take over, as its clock may run slower than that of the database. */
const marginMs = 2_000;
/**
 * The monotonic clock of a suspended machine stands still. By how much the wall clock may have gained on it since the last
 * renewal; beyond that the lease counts only once it is renewed again.
 */
const longestSuspensionMs = 1_000;

export interface LeaseDeps {
  readonly store: Pick<ReplicaStore, "join" | "renew">;
  readonly replica: {
    readonly address: string;
    readonly version: string;
    /** The digest of the configuration. */
    readonly configuration: string;
  };
  readonly leaseMs: number;
  readonly clock: Clock;
}

export interface LeaseListener {
  /** It was not renewed in time. */
  onExpired(): void;
  /** It is not held before it is renewed again, as the machine was suspended or its wall clock was set forward. */
  onSuspended(): void;
}

export type Lease = ReturnType<typeof createLease>;

/**
 * The lease of this process. The database keeps it by its own clock; here it ends earlier, by the monotonic clock of the
 * process, counted from the moment at which its renewal was asked for.
 */
export function createLease(
  { store, replica, leaseMs, clock }: LeaseDeps,
  listener: LeaseListener,
) {
  /** Null: it has not joined, or has left. */
  let id: string | null = null;
  let isFenced = false;
  /** On the monotonic clock. */
  let heldUntilMs = -Infinity;
  /** How far the wall clock is ahead of the monotonic one, when it was renewed. */
  let aheadMs = 0;
  let isSuspended = false;
  let cancelExpiry = (): void => {};

  const nowMs = (): number => clock.now().monotonicMs;
  const isHeld = (): boolean => {
    const { utcMs, monotonicMs } = clock.now();
    if (id === null || isFenced || monotonicMs >= heldUntilMs) return false;
    if (!isSuspended && utcMs - monotonicMs > aheadMs + longestSuspensionMs) {
      isSuspended = true;
      listener.onSuspended();
    }
    return !isSuspended;
  };

  /** A timer of Node.js may call back a moment too early. */
  const awaitExpiry = (): void => {
    cancelExpiry();
    if (isHeld()) cancelExpiry = clock.setTimer(heldUntilMs - nowMs(), awaitExpiry);
    else listener.onExpired();
  };

  return {
    id: () => id,
    isHeld,
    remainingMs: (): number => (isHeld() ? heldUntilMs - nowMs() : 0),
    /** Under a new id. The lease is held once it is renewed. */
    async join(): Promise<string> {
      id = await store.join({ ...replica, leaseMs });
      isFenced = false;
      return id;
    },
    /** Null: it has ended. */
    async renew(): Promise<{ readonly read: ClusterView; readonly sentMs: number } | null> {
      // Otherwise others could not take over while it cannot join again.
      if (isFenced) return null;
      const { utcMs, monotonicMs: sentMs } = clock.now();
      const read = await store.renew(leaseMs);
      if (read === null || isFenced) return null;
      heldUntilMs = sentMs + leaseMs - marginMs;
      aheadMs = utcMs - sentMs;
      isSuspended = false;
      awaitExpiry();
      return { read, sentMs };
    },
    /** Until it joins again it has no lease. */
    fence(): void {
      isFenced = true;
      cancelExpiry();
    },
    end(): void {
      cancelExpiry();
      id = null;
    },
  };
}
