import { delay, type Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { isLive, planUnits } from "./assignment.ts";
import { createOwnedUnits, type OwnedUnits } from "./owned-units.ts";
import type { Ownership, OwnedWork, UnitOwner } from "./ownership.ts";
import type { ClusterView } from "../fleet/replicas.ts";
import type { ReplicaStore } from "./replica-store.ts";

/** A replica stops before the others may take over, as its clock may run slower than that of the database. */
const marginMs = 2_000;
/** After what failed. */
const retryMs = 1_000;
/** By which the clock of the database may be behind what this process believes. */
const expiryMarginMs = 10;
/** What leaving may take at a stop. After that, the lease ends by itself. */
const longestLeavingMs = 5_000;

export interface MembershipDeps {
  readonly store: ReplicaStore;
  readonly replica: {
    readonly address: string;
    readonly version: string;
    /** The digest of the configuration. */
    readonly configuration: string;
  };
  /** The units of the configuration. */
  readonly units: readonly string[];
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the number of units that were taken over from a replica whose lease has ended. */
  readonly onTakenOver: (units: number) => void;
}

/**
 * Takes part in a cluster: holds a lease, claims the units that fall to this replica, and releases those that fall to
 * another one. Only the clock of the database and the own monotonic clock count: replicas may have any time of day.
 */
export function createMembership(deps: MembershipDeps): Ownership {
  const { store, replica, units, leaseMs, clock, log, onTakenOver } = deps;
  let owned: OwnedUnits | null = null;
  let id: string | null = null;
  /** On the monotonic clock. */
  let heldUntilMs = -Infinity;
  let cancelExpiry = (): void => {};
  let view: ClusterView | null = null;
  let owners = new Map<string, UnitOwner>();
  let isFenced = false;
  let isOlder = false;
  /** Why the work was dropped. Null: it was not, or goes on. */
  let dropped: string | null = null;
  /** Why the last round failed. Null: it did not. */
  let failure: unknown = null;
  const stopping = new AbortController();
  let wake = (): void => {};
  let isWoken = false;
  let ended: Promise<void> = Promise.resolve();
  /** Claims and releases: those in progress, and those that have ended. A view that overlaps one may be older than it. */
  const changes = { inProgress: 0, ended: 0 };
  let isClaiming = false;
  /** Whether there is more to claim than what is being claimed. */
  let isMoreDue = false;
  let isReleasing = false;

  const nowMs = (): number => clock.now().monotonicMs;
  const isHeld = (): boolean => id !== null && !isFenced && nowMs() < heldUntilMs;
  const wakeUp = (): void => {
    isWoken = true;
    wake();
  };

  const drop = (reason: string): void => {
    cancelExpiry();
    if (dropped !== null) return;
    dropped = reason;
    owned?.dropAll();
    store.interrupt();
    log.warn(
      { event: "cluster.lease_lost", reason, replica: id },
      `the lease of this replica is lost: ${reason}; nothing is polled or delivered until it has one again`,
    );
  };

  const change = async <T>(act: () => Promise<T>): Promise<T> => {
    changes.inProgress += 1;
    try {
      return await act();
    } finally {
      changes.inProgress -= 1;
      changes.ended += 1;
    }
  };

  /** A timer of Node.js may call back a moment too early. */
  const awaitExpiry = (): void => {
    cancelExpiry();
    if (isHeld()) cancelExpiry = clock.setTimer(heldUntilMs - nowMs(), awaitExpiry);
    else drop("the database did not renew it in time");
  };

  const renew = async () => {
    const sentMs = nowMs();
    const before = { ...changes };
    const read = await store.renew(leaseMs);
    if (read === null || isFenced) return null;
    const isExact = before.inProgress + changes.inProgress === 0 && before.ended === changes.ended;
    heldUntilMs = sentMs + leaseMs - marginMs;
    awaitExpiry();
    return { read, sentMs, isExact };
  };

  const join = async (): Promise<void> => {
    id = await store.join({ ...replica, leaseMs });
    isFenced = false;
    log.info({ event: "cluster.joined", replica: id }, `joined the cluster as replica ${id}`);
    await store.notice("units");
  };

  const claim = async (from: OwnedUnits, wanted: readonly string[]): Promise<void> => {
    const by = id;
    isClaiming = true;
    isMoreDue = false;
    try {
      const { claimed, takenOver } = await change(() => store.claim(wanted));
      if (takenOver.length > 0) onTakenOver(takenOver.length);
      if (claimed.length > 0) {
        log.info(
          { event: "cluster.claimed", units: claimed.length, taken_over: takenOver.length },
          `claimed ${claimed.length} units, ${takenOver.length} of them from replicas whose lease has ended`,
        );
      }
      if (id === by && isHeld() && !stopping.signal.aborted)
        from.gain(claimed.filter((unit) => !from.has(unit)));
      // So that the others know whom to forward requests to.
      if (claimed.length > 0) await store.notice("units");
    } catch (err) {
      log.debug({ event: "cluster.claim_failed", err }, "units could not be claimed");
      await delay(clock, retryMs, stopping.signal);
      wakeUp();
    } finally {
      isClaiming = false;
      if (isMoreDue || id !== by) wakeUp();
    }
  };

  /** Releases what was drained, and what is drained meanwhile. */
  const release = async (from: OwnedUnits): Promise<void> => {
    if (isReleasing) return;
    isReleasing = true;
    try {
      for (let some = from.drained(); some.length > 0 && isHeld(); some = from.drained()) {
        const batch = some;
        await change(() => store.release(batch));
        from.released(batch);
        log.info(
          { event: "cluster.released", units: batch.length },
          `released ${batch.length} units`,
        );
        await store.notice("units");
      }
    } catch (err) {
      log.debug({ event: "cluster.release_failed", err }, "units could not be released");
      await delay(clock, retryMs, stopping.signal);
      wakeUp();
    } finally {
      isReleasing = false;
    }
  };

  const show = (read: ClusterView): void => {
    view = read;
    const live = new Map(
      read.replicas.filter((each) => isLive(each, read)).map((each) => [each.id, each]),
    );
    owners = new Map(
      read.units.flatMap((unit) => {
        const owner = live.get(unit.replica);
        return owner ? [[unit.name, { id: owner.id, address: owner.address }]] : [];
      }),
    );
  };

  /** Renews, claims and releases. Gives when the next round is due, on the monotonic clock. */
  const round = async (from: OwnedUnits): Promise<number> => {
    if (dropped !== null) await from.settled();
    let renewed = id === null ? null : await renew();
    if (renewed === null) {
      if (id !== null) drop("it has ended");
      await from.settled();
      if (stopping.signal.aborted) return nowMs() + retryMs;
      await join();
      renewed = await renew();
      if (renewed === null)
        throw new Error("the lease of a replica that has just joined has ended");
    }
    const { read, sentMs, isExact } = renewed;
    show(read);
    // The answer may have taken longer than the lease.
    if (!isHeld() || id === null) return nowMs();
    if (dropped !== null || failure !== null) {
      log.info({ event: "cluster.lease_held", replica: id }, "this replica renews its lease again");
    }
    dropped = null;
    failure = null;
    if (isExact) {
      const stored = new Set(
        read.units.filter((unit) => unit.replica === id).map(({ name }) => name),
      );
      const all = from.all();
      if (![...all].every((unit) => stored.has(unit))) {
        drop("the store does not have its units any more");
        return nowMs();
      }
      // Of a claim whose answer was lost, or from before the lease was lost.
      if (!stopping.signal.aborted) from.gain([...stored].filter((unit) => !all.has(unit)));
    }
    const plan = planUnits(read, id, units, from.all());
    if (plan.isOlder !== isOlder) {
      isOlder = plan.isOlder;
      log.info(
        { event: "cluster.configuration", older: isOlder },
        isOlder
          ? "another replica has a newer configuration: this one takes no further units"
          : "no other replica has a newer configuration any more",
      );
    }
    if (!stopping.signal.aborted) {
      from.giveUp(plan.giveUp);
      // A claim also removes replicas that have expired.
      const isDue = plan.claim.length > 0 || read.replicas.some((each) => !isLive(each, read));
      if (isDue && !plan.isOlder) {
        if (isClaiming) isMoreDue = true;
        else void claim(from, plan.claim);
      }
    }
    void release(from);
    return Math.min(sentMs + leaseMs / 3, earliestExpiry(read));
  };

  /** When the lease of another replica may be found to have ended. */
  const earliestExpiry = (read: ClusterView): number => {
    const others = read.replicas.filter((each) => each.id !== id && isLive(each, read));
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
  const tryRound = async (from: OwnedUnits): Promise<number> => {
    try {
      return await round(from);
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
    owns: (unit) => isHeld() && (owned?.has(unit) ?? false),
    ownerOf: (unit) => owners.get(unit) ?? null,
    isHeld,
    failure: () => failure,
    view: () => ({
      replica: id,
      units: [...(owned?.all() ?? [])],
      leaseRemainingMs: isHeld() ? heldUntilMs - nowMs() : 0,
      cluster: view,
    }),
    async start(work: OwnedWork) {
      const from = createOwnedUnits(work, wakeUp, async (err) => {
        log.error({ event: "cluster.work_failed", err }, "work for units could not begin or end");
        await delay(clock, retryMs, stopping.signal);
      });
      owned = from;
      store.onNotice((topic) => {
        if (topic === "units" || topic === "everything") wakeUp();
      });
      const first = await tryRound(from);
      ended = (async () => {
        for (let nextMs = first; ; nextMs = await tryRound(from)) {
          await wait(nextMs);
          if (stopping.signal.aborted && !from.isWorking()) return;
        }
      })();
    },
    async stop() {
      if (!owned) return;
      stopping.abort();
      for (;;) {
        owned.giveUp(owned.gained());
        if (!owned.isWorking()) break;
        await owned.settled();
      }
      wakeUp();
      const left = new AbortController();
      const leaving = leave().finally(() => left.abort());
      await Promise.race([leaving, delay(clock, longestLeavingMs, left.signal)]);
      cancelExpiry();
      id = null;
    },
    fenced() {
      if (id === null) return;
      isFenced = true;
      drop("the store has refused a commit of this replica");
      wakeUp();
    },
  };
}
