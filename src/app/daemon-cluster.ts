import { countReplicas, unitsOf } from "../cluster/assignment.ts";
import { digestOf } from "../cluster/configuration-digest.ts";
import { createMembership } from "../cluster/membership.ts";
import { soleOwner, type Ownership } from "../cluster/ownership.ts";
import type { Config } from "../config/config.ts";
import { poolsAcrossKeys } from "../config/configured-targets.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { version } from "../lib/version.ts";
import type { RegionWatch, SharedRegions } from "../polling/region-watch.ts";
import { createRepeater } from "../notify/repeater.ts";
import type { Store } from "../store/store.ts";

interface OwnershipDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly onTakenOver: (units: number) => void;
}

/** Which units this process works for: all of them, or with `cluster` those that fall to it. */
export function createOwnership(
  config: Config,
  store: Pick<Store, "cluster">,
  deps: OwnershipDeps,
): Ownership {
  const units = unitsOf({
    keys: config.keys.map(({ name }) => name),
    receivers: config.alerts.receivers.map(({ name }) => name),
    regions: [...config.regions.keys()],
    pools: config.cluster ? poolsAcrossKeys(config).map(({ name }) => name) : [],
  });
  const { cluster } = config;
  if (!cluster || !store.cluster) return soleOwner(units);
  const { address, leaseMs } = cluster;
  const replica = { address, version, configuration: digestOf(config) };
  return createMembership({ ...deps, store: store.cluster, replica, units, leaseMs });
}

/** What metrics show of the replicas. */
export function readReplicas(ownership: Pick<Ownership, "isHeld" | "view">) {
  const { cluster, leaseRemainingMs } = ownership.view();
  return {
    replicas: cluster && ownership.isHeld() ? countReplicas(cluster) : null,
    leaseRemainingMs: leaseRemainingMs ?? 0,
  };
}

/** Notices are not certain to arrive: what they are about is looked at this often anyway. */
const lookEveryMs = 5_000;

/** Undefined: there are no other replicas. */
export function sharedRegions(
  { cluster }: Pick<Store, "cluster">,
  isHeld: () => boolean,
): SharedRegions | undefined {
  return cluster
    ? { isHeld, notice: (topic) => cluster.notice(topic), readEveryMs: lookEveryMs }
    : undefined;
}

interface NoticedParts {
  readonly clock: Clock;
  readonly notifier: { wake(): void };
  readonly suppressions: { reload(): Promise<void> };
  readonly regions: Pick<RegionWatch, "onNotice">;
}

/** Has the parts of the daemon take up what other replicas have committed. */
export function followReplicas(
  { cluster }: Pick<Store, "cluster">,
  { clock, notifier, suppressions, regions }: NoticedParts,
) {
  // If that fails, a commit that was judged by old ones is refused, and they are read again.
  const reload = (): Promise<void> => suppressions.reload().catch(() => {});
  cluster?.onNotice((topic) => {
    const isAny = topic === "everything";
    if (isAny || topic === "outbox") notifier.wake();
    if (isAny || topic === "suppressions") void reload();
    regions.onNotice(topic);
  });
  const look = async (): Promise<void> => {
    notifier.wake();
    await reload();
  };
  return createRepeater({ clock, everyMs: lookEveryMs, firstAfterMs: lookEveryMs, run: look });
}
