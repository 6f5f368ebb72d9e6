import { delay } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { isLive, liveReplicas, planUnits } from "./assignment.ts";
import { createLease, type LeaseDeps } from "./lease.ts";
import { createOwnedUnits, type OwnedUnits } from "./owned-units.ts";
import type { Ownership, OwnedWork, UnitOwner } from "./ownership.ts";
import type { ClusterView } from "../fleet/replicas.ts";
import type { ReplicaStore } from "./replica-store.ts";
import { createUnitChanges, retryMs } from "./unit-changes.ts";

/** By which the clock of the database may be behind what this process believes. */
const expiryMarginMs = 10;
/** What leaving may take at a stop. After that, the lease ends by itself. */
const longestLeavingMs = 5_000;

export interface MembershipDeps extends LeaseDeps {
  readonly store: ReplicaStore;
  /** The units of the configuration. */
  readonly units: readonly string[];
  readonly log: Logger;
  /** Called with the number of units that were taken over from a replica whose lease has ended. */
  readonly onTakenOver: (units: number) => void;
}

/**
 * Takes part in a cluster: holds a lease, claims the units that fall to this replica, and releases those that fall to
 * another one. Only the clock of the database and the own monotonic clock count: replicas may have any time of day.
 */
export function createMembership(deps: MembershipDeps): Ownership {
  const { store, units, leaseMs, clock, log, onTakenOver } = deps;
  let owned: OwnedUnits | null = null;
  let view: ClusterView | null = null;
  let owners = new Map<string, UnitOwner>();
  let isOlder = false;
  /** When it takes units in any case, on the monotonic clock: by then, replicas that an outage has stopped have joined again. */
  let takesFromMs = Infinity;
  /** Why the work was dropped. Null: it was not, or goes on. */
  let dropped: string | null = null;
  /** Why the last round failed. Null: it did not. */
  let failure: unknown = null;
  const stopping = new AbortController();
  let wake = (): void => {};
  let isWoken = false;
  let ended: Promise<void> = Promise.resolve();

  const nowMs = (): number => clock.now().monotonicMs;
  const wakeUp = (): void => {
    isWoken = true;
    wake();
  };

  const drop = (reason: string): void => {
    if (dropped !== null) return;
    dropped = reason;
    owned?.dropAll();
    store.interrupt();
    log.warn(
      { event: "cluster.lease_lost", reason, replica: lease.id() },
      `the lease of this replica is lost: ${reason}; nothing is polled or delivered until it has one again`,
    );
  };

  /** Before it acts again, it must join again. */
  const fence = (reason: string): void => {
    if (lease.id() === null) return;
    lease.fence();
    drop(reason);
    wakeUp();
  };

  const lease = createLease(deps, {
    onExpired: () => drop("the database did not renew it in time"),
    onSuspended: wakeUp,
  });
  const changes = createUnitChanges({
    store,
    lease,
    clock,
    log,
    stopping: stopping.signal,
    onTakenOver,
    onLeft: wakeUp,
  });

  const join = async (): Promise<void> => {
    const id = await lease.join();
    takesFromMs = nowMs() + leaseMs;
    log.info({ event: "cluster.joined", replica: id }, `joined the cluster as replica ${id}`);
    await store.notice("units");
  };

  const show = (read: ClusterView): void => {
    view = read;
    const live = new Map(liveReplicas(read).map((each) => [each.id, each]));
    owners = new Map(
      read.units.flatMap((unit) => {
        const owner = live.get(unit.replica);
        return owner ? [[unit.name, { id: owner.id, address: owner.address }]] : [];
      }),
    );
  };

  /** Renews the lease, if need be after joining. */
  const renew = async (working: OwnedUnits) => {
    const renewed = lease.id() === null ? null : await lease.renew();
    if (renewed !== null) return renewed;
    if (lease.id() !== null) drop("it has ended");
    await working.settled();
    if (stopping.signal.aborted) return null;
    await join();
    const first = await lease.renew();
    if (first === null) throw new Error("the lease of a replica that has just joined has ended");
    return first;
  };

  /** Renews, claims and releases. Gives when the next round is due, on the monotonic clock. */
  const round = async (working: OwnedUnits): Promise<number> => {
    if (dropped !== null) await working.settled();
    const isExact = changes.watch();
    const renewed = await renew(working);
    if (renewed === null) return nowMs() + retryMs;
    const { read, sentMs } = renewed;
    show(read);
    const id = lease.id();
    // The answer may have taken longer than the lease.
    if (!lease.isHeld() || id === null) return nowMs();
    if (dropped !== null || failure !== null) {
      log.info({ event: "cluster.lease_held", replica: id }, "this replica renews its lease again");
    }
    dropped = null;
    failure = null;
    if (isExact() && !adopt(working, read, id)) return nowMs();
    if (!stopping.signal.aborted) {
      const isWaiting = read.replicas.some((each) => each.id === id && !each.takesUnits);
      if (isWaiting && nowMs() >= takesFromMs) {
        await takeUnits(true);
        return nowMs();
      }
      share(working, read, id);
    }
    void changes.release(working);
    return Math.min(sentMs + leaseMs / 3, earliestExpiry(read, id));
  };

  /** @returns false when the store does not have all units that this process works for */
  const adopt = (working: OwnedUnits, read: ClusterView, id: string): boolean => {
    const stored = new Set(
      read.units.filter(({ replica }) => replica === id).map(({ name }) => name),
    );
    const all = working.all();
    const missing = [...all].filter((unit) => !stored.has(unit));
    const drained = new Set(working.drained());
    if (!missing.every((unit) => drained.has(unit))) {
      drop("the store does not have its units any more");
      return false;
    }
    // The answer to their release was lost. Without a notice the others see it when they renew their leases.
    if (missing.length > 0) changes.confirm(working, missing).catch(() => {});
    // Of a claim whose answer was lost, or from before the lease was lost.
    if (!stopping.signal.aborted) working.gain([...stored].filter((unit) => !all.has(unit)));
    return true;
  };

  const takeUnits = async (takes: boolean): Promise<void> => {
    await store.takeUnits(takes);
    await store.notice("units");
  };

  /** Begins to claim what falls to this replica, and ends the work for what falls to others. */
  const share = (working: OwnedUnits, read: ClusterView, id: string): void => {
    const plan = planUnits(read, id, units, working.all());
    if (plan.isOlder !== isOlder) {
      isOlder = plan.isOlder;
      log.info(
        { event: "cluster.configuration", older: isOlder },
        isOlder
          ? "a newer configuration is in use, or was: this replica takes no further units"
          : "no other replica has a newer configuration: this one takes units",
      );
    }
    working.giveUp(plan.giveUp);
    // A claim also removes replicas that have expired.
    const isDue = plan.claim.length > 0 || read.replicas.some((each) => !isLive(each, read));
    if (isDue && !plan.isOlder) void changes.claim(working, plan.claim);
  };

  /** When the lease of another replica may be found to have ended. */
  const earliestExpiry = (read: ClusterView, id: string): number => {
    const others = liveReplicas(read).filter((each) => each.id !== id);
    const inMs = Math.min(...others.map(({ expiresAtMs }) => expiresAtMs - read.nowMs));
    return nowMs() + inMs + expiryMarginMs;
  };

  const wait = async (untilMs: number): Promise<void> => {
    const woken = new AbortController();
    wake = () => woken.abort();
    if (!isWoken) await delay(clock, untilMs - nowMs(), woken.signal);
    isWoken = false;
  };

  /** @returns when the next round is due */
  const tryRound = async (working: OwnedUnits): Promise<number> => {
    try {
      return await round(working);
    } catch (err) {
      if (failure === null) {
        log.warn({ event: "cluster.renewal_failed", err }, "the lease could not be renewed");
      }
      failure = err;
      return nowMs() + retryMs;
    }
  };

  const leave = async (): Promise<void> => {
    await ended;
    const id = lease.id();
    if (id === null) return;
    try {
      await store.leave();
      await store.notice("units");
      log.info({ event: "cluster.left", replica: id }, "left the cluster");
    } catch (err) {
      log.warn(
        { event: "cluster.leave_failed", err },
        "the lease could not be ended: it will expire",
      );
    }
  };

  return {
    owns: (unit) => lease.isHeld() && (owned?.has(unit) ?? false),
    ownerOf: (unit) => owners.get(unit) ?? null,
    isHeld: lease.isHeld,
    failure: () => failure,
    unbegun: () => owned?.unbegun() ?? null,
    view: () => ({
      replica: lease.id(),
      units: [...(owned?.all() ?? [])],
      leaseRemainingMs: lease.remainingMs(),
      cluster: view,
    }),
    async start(work: OwnedWork) {
      const working = createOwnedUnits(work, {
        onChange: wakeUp,
        async onFailed(err, isRepeated) {
          if (!isRepeated) {
            log.error(
              { event: "cluster.work_failed", err },
              "work for units could not begin or end",
            );
          }
          await delay(clock, retryMs, stopping.signal);
        },
        onRecovered() {
          log.info({ event: "cluster.work_recovered" }, "work has begun for all units");
        },
      });
      owned = working;
      store.onNotice((topic) => {
        if (topic === "units" || topic === "everything") wakeUp();
      });
      const first = await tryRound(working);
      ended = (async () => {
        for (let nextMs = first; ; nextMs = await tryRound(working)) {
          await wait(nextMs);
          if (stopping.signal.aborted && !working.isWorking()) return;
        }
      })();
    },
    async stop() {
      if (!owned) return;
      stopping.abort();
      // So that what it releases falls to others before it has left.
      if (lease.id() !== null) takeUnits(false).catch(() => {});
      for (;;) {
        owned.giveUp(owned.gained());
        if (!owned.isWorking()) break;
        await owned.settled();
      }
      wakeUp();
      const left = new AbortController();
      const leaving = leave().finally(() => left.abort());
      await Promise.race([leaving, delay(clock, longestLeavingMs, left.signal)]);
      lease.end();
    },
    fenced: () => fence("the store has refused a commit of this replica"),
    unwritable: () => fence("nothing could be written for as long as a lease"),
  };
}
