import { delay, type Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Lease } from "./lease.ts";
import type { OwnedUnits } from "./owned-units.ts";
import type { ReplicaStore } from "./replica-store.ts";

/** How long after a failure it is tried again. */
export const retryMs = 1_000;

interface UnitChangesDeps {
  readonly store: Pick<ReplicaStore, "claim" | "release" | "notice">;
  readonly lease: Pick<Lease, "id" | "isHeld">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Aborted when this process stops: from then on it works for nothing that is claimed. */
  readonly stopping: AbortSignal;
  /** Called with the number of units that were taken over from a replica whose lease has ended. */
  readonly onTakenOver: (units: number) => void;
  /** Units may be left to claim or to release. */
  readonly onLeft: () => void;
}

/** Claims and releases units in the store. It may wait for other replicas' transactions, which delays no renewal. */
export function createUnitChanges(deps: UnitChangesDeps) {
  const { store, lease, clock, log, stopping, onTakenOver, onLeft } = deps;
  const counts = { inProgress: 0, ended: 0 };
  let isClaiming = false;
  /** Whether there is more to claim than what is being claimed. */
  let isMoreDue = false;
  let isReleasing = false;

  const change = async <T>(act: () => Promise<T>): Promise<T> => {
    counts.inProgress += 1;
    try {
      return await act();
    } finally {
      counts.inProgress -= 1;
      counts.ended += 1;
    }
  };

  const retryLater = async (): Promise<void> => {
    await delay(clock, retryMs, stopping);
    onLeft();
  };

  const confirm = async (units: OwnedUnits, released: readonly string[]): Promise<void> => {
    units.released(released);
    log.info(
      { event: "cluster.released", units: released.length },
      `released ${released.length} units`,
    );
    await store.notice("units");
  };

  return {
    /** @returns whether nothing was claimed or released since: a view that overlaps that may be older than it */
    watch(): () => boolean {
      const before = { ...counts };
      return () => before.inProgress + counts.inProgress === 0 && before.ended === counts.ended;
    },
    /** Begins to work for what it gets of these. If a claim is in progress, `onLeft` is called after it. */
    async claim(units: OwnedUnits, wanted: readonly string[]): Promise<void> {
      if (isClaiming) return void (isMoreDue = true);
      const by = lease.id();
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
          if (lease.id() === by && lease.isHeld()) {
            const gained = claimed.filter((unit) => !units.has(unit));
            if (stopping.aborted) await change(() => store.release(gained));
            else units.gain(gained);
          }
          // So that the others know whom to forward requests to.
          await store.notice("units");
        }
      } catch (err) {
        log.debug({ event: "cluster.claim_failed", err }, "units could not be claimed");
        await retryLater();
      } finally {
        isClaiming = false;
        if (isMoreDue || lease.id() !== by) onLeft();
      }
    },
    /** Units are released, whatever the answer was. */
    confirm,
    /** Releases what was drained, and what is drained meanwhile. */
    async release(units: OwnedUnits): Promise<void> {
      if (isReleasing) return;
      isReleasing = true;
      try {
        let drained = units.drained();
        while (drained.length > 0 && lease.isHeld()) {
          const batch = drained;
          await change(() => store.release(batch));
          await confirm(units, batch);
          drained = units.drained();
        }
      } catch (err) {
        log.debug({ event: "cluster.release_failed", err }, "units could not be released");
        await retryLater();
      } finally {
        isReleasing = false;
      }
    },
  };
}
