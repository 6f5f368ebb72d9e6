import type { Clock } from "../lib/clock.ts";
import type { ClusterView } from "../fleet/replicas.ts";
import type { ReplicaStore } from "./replica-store.ts";

/** A replica stops before the others may take over, as its clock may run slower than that of the database. */
const marginMs = 2_000;

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

export type Lease = ReturnType<typeof createLease>;

/**
 * The lease of this process. The database keeps it by its own clock; here it ends earlier, by the monotonic clock of the
 * process, counted from the moment at which its renewal was asked for.
 *
 * @param onExpired called when it was not renewed in time
 */
export function createLease({ store, replica, leaseMs, clock }: LeaseDeps, onExpired: () => void) {
  /** Null: it has not joined, or has left. */
  let id: string | null = null;
  let isFenced = false;
  /** On the monotonic clock. */
  let heldUntilMs = -Infinity;
  let cancelExpiry = (): void => {};

  const nowMs = (): number => clock.now().monotonicMs;
  const isHeld = (): boolean => id !== null && !isFenced && nowMs() < heldUntilMs;

  /** A timer of Node.js may call back a moment too early. */
  const awaitExpiry = (): void => {
    cancelExpiry();
    if (isHeld()) cancelExpiry = clock.setTimer(heldUntilMs - nowMs(), awaitExpiry);
    else onExpired();
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
      const sentMs = nowMs();
      const read = await store.renew(leaseMs);
      if (read === null || isFenced) return null;
      heldUntilMs = sentMs + leaseMs - marginMs;
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
