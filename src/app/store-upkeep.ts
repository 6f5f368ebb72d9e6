import type { JudgeOptions } from "../alerts/judge.ts";
import type { Suppressions } from "../alerts/silence.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { Clock } from "../lib/clock.ts";
import { hasHoursOfUtc, zoneOffset } from "../lib/zone-offset.ts";
import type { CommitLoop } from "../polling/commit-loop.ts";
import { retireUnconfigured } from "../polling/restore.ts";
import type { Store } from "../store/store.ts";
import { retentionChores, type Chore, type Upkeep } from "./upkeep.ts";

const yearMs = 366 * 24 * 60 * 60_000;

interface StoreUpkeepDeps {
  readonly config: Config;
  readonly store: Store;
  readonly upkeep: Upkeep;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: { at(atMs: number): Suppressions };
  readonly delivery: {
    readonly scheduled: {
      adopt(): Promise<void>;
      forgetOthers(): Promise<void>;
      readonly chores: readonly Chore[];
    };
  };
  readonly commits: CommitLoop;
  readonly clock: Clock;
}

/** Before any poll: ends the incidents of what is not configured any more, and takes over what is done for the whole store. */
export async function beginStoreUpkeep(deps: StoreUpkeepDeps): Promise<void> {
  const { config, store, upkeep, suppressions, commits, clock } = deps;
  const { scheduled } = deps.delivery;
  const { utcMs: nowUtcMs } = clock.now();
  const judge = { ...deps.judge, suppressions: suppressions.at(nowUtcMs) };
  const options = { judge, nowUtcMs, commits };
  await retireUnconfigured(store, configuredTargets(config), config.probes, options);
  await scheduled.forgetOthers();
  await scheduled.adopt();
  const isByQuarter = config.history.zones.some(
    (zone) => !hasHoursOfUtc(zoneOffset(zone), nowUtcMs, nowUtcMs + yearMs),
  );
  upkeep.add([
    ...scheduled.chores,
    { what: "rolling up the history", step: () => store.rollUp({ isByQuarter }) },
    ...retentionChores(store, config.history, clock, [...judge.receivers.keys()]),
  ]);
}
