import type { JudgeOptions } from "../core/judge.ts";
import type { Incident } from "../core/incident.ts";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { Target } from "../core/model.ts";
import { createPoolWatch } from "../core/pool-watch.ts";
import type { PoolClock, PoolWatch } from "../core/pool-watch.ts";
import type { Rule } from "../core/rule.ts";

/** What restoring needs of the store. */
export interface PoolStore {
  readonly untargeted: { open(): Promise<readonly Incident[]> };
  readonly targets: { poolClocks(): Promise<readonly PoolClock[]> };
  commitIncidents(targetId: null, incidents: IncidentOutcome): Promise<void>;
}

export interface RestorePoolsOptions {
  readonly rules: readonly Rule[];
  readonly targets: readonly Target[];
  readonly judge: JudgeOptions;
  readonly nowUtcMs: number;
  readonly onRetired: (outcome: IncidentOutcome) => void;
}

/** The pools as the store last knew them. Incidents that no rule owns any more are ended. */
export async function restorePools(
  store: PoolStore,
  { rules, targets, judge, nowUtcMs, onRetired }: RestorePoolsOptions,
): Promise<PoolWatch> {
  const open = await store.untargeted.open();
  const pools = createPoolWatch({
    rules: rules.filter((rule) => rule.on === "pool"),
    targets,
    openIncidents: open.filter(({ subject }) => subject.kind === "pool"),
    clocks: await store.targets.poolClocks(),
  });
  const retired = pools.retire(nowUtcMs, judge);
  const { incidents } = retired.outcome;
  if (incidents.steps.length > 0) {
    await store.commitIncidents(null, incidents);
    retired.accept();
    onRetired(incidents);
  }
  return pools;
}
