import type { JudgeOptions } from "../alerts/judge.ts";
import type { Suppressions } from "../alerts/silence.ts";
import { liveReplicas } from "../cluster/assignment.ts";
import type { Ownership } from "../cluster/ownership.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { RegionWatch } from "../polling/region-watch.ts";
import { retireUnconfigured } from "../polling/restore.ts";
import type { ComposeAcknowledged } from "../store/acknowledgements.ts";
import type { Store } from "../store/store.ts";
import { retentionChores, type Chore, type Upkeep } from "./upkeep.ts";

interface StoreUpkeepDeps {
  readonly config: Config;
  readonly store: Store;
  readonly upkeep: Upkeep;
  readonly regions: Pick<RegionWatch, "retireOthers">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: { at(atMs: number): Suppressions };
  readonly ownership: Pick<Ownership, "view">;
  /** Reports and receivers that are not configured any more. */
  readonly delivery: {
    readonly scheduled: {
      adopt(): Promise<void>;
      forgetOthers(): Promise<void>;
      readonly chores: readonly Chore[];
    };
    readonly reviewOthers: Chore;
  };
  readonly composeAcknowledged: ComposeAcknowledged;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is done once for the whole store, by the owner of the unit `upkeep`. */
export function createStoreUpkeep(deps: StoreUpkeepDeps) {
  const { config, store, upkeep, delivery, clock } = deps;
  const { scheduled, reviewOthers } = delivery;
  const isOnlyConfiguration = (): boolean => {
    const { cluster } = deps.ownership.view();
    const live = cluster ? liveReplicas(cluster) : [];
    return new Set(live.map(({ configuration }) => configuration)).size <= 1;
  };
  /** While a replica has another configuration, it still needs what this one does not name. */
  const forUnconfigured = (chore: Chore): Chore => ({
    ...chore,
    step: async () => isOnlyConfiguration() && chore.step(),
  });
  const retirement = forUnconfigured(retirementChore(deps));
  const receivers = [...deps.judge.receivers.keys()];
  const chores = [
    retirement,
    forUnconfigured(reviewOthers),
    ...scheduled.chores,
    ...retentionChores(store, config.history, clock, receivers),
  ];
  return {
    /** Before any poll of a process that has the store alone. */
    async prepare(): Promise<void> {
      await retirement.step();
      await store.acknowledgements.notifyPending(deps.composeAcknowledged);
      await scheduled.adopt();
    },
    begin: (): void => upkeep.add(chores),
    end: (): Promise<void> => upkeep.remove(chores),
  };
}

/** Ends the incidents of what the configuration does not name any more, and forgets reports. */
function retirementChore(deps: StoreUpkeepDeps): Chore {
  const { config, store, regions, delivery, judge, suppressions, clock, log } = deps;
  const targets = configuredTargets(config);
  return {
    what: "ending incidents of what is not configured any more",
    async step() {
      const nowUtcMs = clock.now().utcMs;
      // They end whatever is silenced.
      const by = { ...judge, suppressions: { ...suppressions.at(nowUtcMs), version: null } };
      const options = { judge: by, nowUtcMs, log };
      await retireUnconfigured(store, targets, config.probes, options);
      await regions.retireOthers(config.regions.keys());
      await delivery.scheduled.forgetOthers();
      return false;
    },
  };
}
