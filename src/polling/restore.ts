import type { FlapRecord } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Incident, ProbeSubject } from "../alerts/incident.ts";
import { retireIncidents } from "../alerts/judge.ts";
import type { JudgeOptions } from "../alerts/judge.ts";
import { retireProbe } from "../alerts/judge-probe.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { holdIncidents } from "../alerts/open-incidents.ts";
import type { OpenIncidents } from "../alerts/open-incidents.ts";
import type { PoolClock } from "../alerts/judge-pools.ts";
import { subjectName, subjectsOf } from "../alerts/probe.ts";
import type { Probe } from "../alerts/probe.ts";
import { phaseOf } from "../fleet/schedule.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { Logger } from "../lib/logger.ts";
import { logIncidents } from "./incident-log.ts";
import { watchPools, type WatchedPools } from "./watched-pools.ts";
import { watchProbe } from "./watched-probe.ts";
import type { RestoredProbe, WatchedProbe } from "./watched-probe.ts";
import { watchTarget } from "./watched-target.ts";
import type { RestoredTarget, WatchedTarget, WatchOptions } from "./watched-target.ts";

type StoredProbe = Omit<RestoredProbe, "openIncidents">;

/** The part of the store that restoring needs. */
export interface StoredState {
  readonly targets: {
    all(): Promise<readonly RestoredTarget[]>;
    addAll(targets: readonly Target[]): Promise<readonly RestoredTarget[]>;
    snapshotOf(targetId: number): Promise<Snapshot>;
    poolClocks(): Promise<readonly PoolClock[]>;
  };
  readonly probes: {
    all(): Promise<readonly StoredProbe[]>;
    add(subject: ProbeSubject): Promise<StoredProbe>;
    remove(id: number): Promise<void>;
    commitRetired(id: number, incidents: IncidentOutcome): Promise<void>;
  };
  /** The open incidents of pools, probes and receivers. */
  readonly incidentsWithoutTarget: { open(): Promise<readonly Incident[]> };
  commitIncidents(targetId: number | null, incidents: IncidentOutcome): Promise<void>;
}

export interface RestoreOptions {
  readonly judge: JudgeOptions;
  readonly nowUtcMs: number;
  readonly log: Logger;
}

/**
 * The configured targets as the store last knew them. Incidents that no rule owns any more end, also those of
 * targets that are not configured any more.
 */
export async function restoreTargets(
  store: Pick<StoredState, "targets" | "commitIncidents">,
  configured: readonly Target[],
  options: RestoreOptions & WatchOptions,
): Promise<readonly WatchedTarget[]> {
  const { judge, nowUtcMs, log } = options;
  // A target that is configured twice is watched once.
  const wanted = new Map(configured.map((target) => [targetName(target), target]));
  const known = await store.targets.all();
  const names = new Set(known.map(({ target }) => targetName(target)));
  const unknown = [...wanted.values()].filter((target) => !names.has(targetName(target)));
  const added = unknown.length > 0 ? await store.targets.addAll(inOrderOfPolls(unknown)) : [];
  const stored = new Map([...known, ...added].map((each) => [targetName(each.target), each]));

  const retire = (restored: RestoredTarget, by: JudgeOptions): Promise<RestoredTarget> => {
    const { id, target } = restored;
    return retireUnowned(
      restored,
      (held) => retireIncidents({ target, ...held }, nowUtcMs, by),
      async (outcome) => {
        await store.commitIncidents(id, outcome);
        await logIncidents(log, target, outcome);
      },
    );
  };

  const watched: WatchedTarget[] = [];
  for (const name of wanted.keys()) {
    const found = stored.get(name);
    if (!found) continue;
    stored.delete(name);
    const restored = await retire(found, judge);
    watched.push(watchTarget(restored, await store.targets.snapshotOf(restored.id), options));
  }
  for (const abandoned of stored.values()) await retire(abandoned, { ...judge, rules: [] });
  return watched;
}

/** Targets whose polls are committed together are then stored together, and few pages are written. */
function inOrderOfPolls(targets: readonly Target[]): readonly Target[] {
  const phase = (target: Target): number => phaseOf(targetName(target));
  return targets.toSorted((one, other) => phase(one) - phase(other));
}

/**
 * The configured probes as the store last knew them. Incidents that no rule owns any more end, also those of
 * probes that are not configured any more; these are then removed.
 *
 * @param options.staleAfter runs in a row without news before the last result is withheld
 */
export async function restoreProbes(
  store: Pick<StoredState, "probes" | "incidentsWithoutTarget">,
  configured: readonly Probe[],
  { judge, staleAfter, nowUtcMs, log }: RestoreOptions & Pick<WatchOptions, "staleAfter">,
): Promise<readonly WatchedProbe[]> {
  const incidentsOf = Map.groupBy(await store.incidentsWithoutTarget.open(), ({ subject }) =>
    subject.kind === "probe" ? subjectName(subject) : "",
  );
  const known = await store.probes.all();
  const stored = new Map(known.map((each) => [subjectName(each.subject), each]));

  const retire = (probe: StoredProbe, by: JudgeOptions): Promise<RestoredProbe> => {
    const { id, subject } = probe;
    const openIncidents = incidentsOf.get(subjectName(subject)) ?? [];
    return retireUnowned(
      { ...probe, openIncidents },
      (held) => retireProbe({ subject, ...held }, nowUtcMs, by),
      async (outcome) => {
        await store.probes.commitRetired(id, outcome);
        await logIncidents(log, null, outcome);
      },
    );
  };

  const watched: WatchedProbe[] = [];
  for (const probe of configured) {
    for (const subject of subjectsOf(probe)) {
      const found = stored.get(subjectName(subject)) ?? (await store.probes.add(subject));
      stored.delete(subjectName(subject));
      watched.push(watchProbe(probe, await retire(found, judge), staleAfter));
    }
  }
  for (const abandoned of stored.values()) {
    await retire(abandoned, { ...judge, rules: [] });
    await store.probes.remove(abandoned.id);
  }
  return watched;
}

/** The pools as the store last knew them. Incidents that no rule owns any more end. */
export async function restorePools(
  store: Pick<StoredState, "incidentsWithoutTarget" | "commitIncidents"> & {
    readonly targets: Pick<StoredState["targets"], "poolClocks">;
  },
  targets: readonly Target[],
  { judge, nowUtcMs, log }: RestoreOptions,
): Promise<WatchedPools> {
  const open = await store.incidentsWithoutTarget.open();
  const pools = watchPools({
    rules: judge.rules.filter((rule) => rule.on === "pool"),
    targets,
    openIncidents: open.filter(({ subject }) => subject.kind === "pool"),
    clocks: await store.targets.poolClocks(),
  });
  const retired = pools.retire(nowUtcMs, judge);
  const { incidents } = retired.outcome;
  if (incidents.steps.length > 0) {
    await store.commitIncidents(null, incidents);
    pools.accept(retired);
    await logIncidents(log, null, incidents);
  }
  return pools;
}

interface WithIncidents {
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
}

/** Gives what is restored with the incidents that continue. */
async function retireUnowned<Restored extends WithIncidents>(
  restored: Restored,
  retire: (held: OpenIncidents) => IncidentOutcome,
  commit: (outcome: IncidentOutcome) => Promise<void>,
): Promise<Restored> {
  const held = holdIncidents(restored.openIncidents, restored.flaps);
  const outcome = retire(held);
  if (outcome.steps.length === 0 && outcome.flaps.length === 0) return restored;
  await commit(outcome);
  held.apply(outcome);
  const { incidents, flaps } = held;
  return { ...restored, openIncidents: [...incidents.values()], flaps: [...flaps.values()] };
}
