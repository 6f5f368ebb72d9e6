import type { JudgeOptions } from "../alerts/judge.ts";
import type { Suppressions } from "../alerts/silence.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { Clock } from "../lib/clock.ts";
import { hasHoursOfUtc, zoneOffset } from "../lib/zone-offset.ts";
import type { CommitLoop } from "../polling/commit-loop.ts";
import type { RegionWatch } from "../polling/region-watch.ts";
import { retireUnconfigured } from "../polling/restore.ts";
import type { Store } from "../store/store.ts";
import { retentionChores, type Chore, type Upkeep } from "./upkeep.ts";

const yearMs = 366 * 24 * 60 * 60_000;

interface StoreUpkeepDeps {
  readonly config: Config;
  readonly store: Store;
  readonly upkeep: Upkeep;
  readonly regions: Pick<RegionWatch, "retireOthers">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: { at(atMs: number): Suppressions };
  /** Reports and receivers that are not configured any more. */
  readonly delivery: {
    readonly scheduled: {
      adopt(): Promise<void>;
      forgetOthers(): Promise<void>;
      readonly chores: readonly Chore[];
    };
    readonly reviewOthers: Chore;
  };
  readonly commits: CommitLoop;
  readonly clock: Clock;
}

/** What is done for the whole store. */
export function createStoreUpkeep(deps: StoreUpkeepDeps) {
  const { config, store, upkeep, delivery, clock } = deps;
  const { scheduled, reviewOthers } = delivery;
  const retirement = retirementChore(deps);
  const receivers = [...deps.judge.receivers.keys()];
  const fromMs = clock.now().utcMs;
  const isByQuarter = config.history.zones.some(
    (zone) => !hasHoursOfUtc(zoneOffset(zone), fromMs, fromMs + yearMs),
  );
  return {
    /** Before any poll. */
    async begin(): Promise<void> {
      await retirement.step();
      await scheduled.adopt();
      upkeep.add([
        retirement,
        reviewOthers,
        ...scheduled.chores,
        { what: "rolling up the history", step: () => store.rollUp({ isByQuarter }) },
        ...retentionChores(store, config.history, clock, receivers),
      ]);
    },
  };
}

/** Ends the incidents of what the configuration does not name any more, and forgets reports. */
function retirementChore(deps: StoreUpkeepDeps): Chore {
  const { config, store, regions, delivery, judge, suppressions, commits, clock } = deps;
  const targets = configuredTargets(config);
  return {
    what: "ending incidents of what is not configured any more",
    async step() {
      const nowUtcMs = clock.now().utcMs;
      const by = { ...judge, suppressions: suppressions.at(nowUtcMs) };
      const options = { judge: by, nowUtcMs, commits };
      await retireUnconfigured(store, targets, config.probes, options);
      await regions.retireOthers();
      await delivery.scheduled.forgetOthers();
      return false;
    },
  };
}
