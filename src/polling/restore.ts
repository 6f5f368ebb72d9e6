import { isPool } from "../alerts/subjects.ts";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Incident } from "../alerts/incident.ts";
import { retireIncidents } from "../alerts/judge.ts";
import type { JudgeOptions } from "../alerts/judge.ts";
import { retireProbe } from "../alerts/judge-probe.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { holdIncidents } from "../alerts/target-state.ts";
import type { OpenIncidents } from "../alerts/target-state.ts";
import { subjectName, subjectsOf } from "../alerts/probe.ts";
import type { Probe } from "../alerts/probe.ts";
import { phaseOf } from "../fleet/schedule.ts";
import type { StoredProbe } from "../store/probes.ts";
import type { Store } from "../store/store.ts";
import type { CommitLoop } from "./commit-loop.ts";
import { watchPools, type WatchedPools } from "./watched-pools.ts";
import { watchProbe } from "./watched-probe.ts";
import type { RestoredProbe, WatchedProbe } from "./watched-probe.ts";
import { watchTarget } from "./watched-target.ts";
import type { RestoredTarget, WatchedTarget, WatchOptions } from "./watched-target.ts";

/** The part of the store that restoring needs. */
type StoredState = Pick<Store, "targets" | "probes" | "incidentsWithoutTarget" | "commitIncidents">;

export interface RestoreOptions {
  readonly judge: JudgeOptions;
  readonly nowUtcMs: number;
  readonly commits: Pick<CommitLoop, "commit" | "publish">;
}

/** Targets as the store last knew them. Incidents that no rule owns any more end. */
export async function restoreTargets(
  store: Pick<StoredState, "targets" | "commitIncidents">,
  targets: readonly Target[],
  options: RestoreOptions & WatchOptions,
): Promise<readonly WatchedTarget[]> {
  // A target that is configured twice is watched once.
  const wanted = new Map(targets.map((target) => [targetName(target), target]));
  const names = await store.targets.names();
  const known = names.filter(({ target }) => wanted.has(targetName(target)));
  const knownNames = new Set(known.map(({ target }) => targetName(target)));
  const unknown = [...wanted.values()].filter((target) => !knownNames.has(targetName(target)));
  const found = [
    ...(await store.targets.some(known)),
    ...(unknown.length > 0 ? await store.targets.addAll(inOrderOfPolls(unknown)) : []),
  ];
  const byId = new Map(found.map((each) => [each.id, each]));
  const watched = new Map<string, WatchedTarget>();
  for await (const [id, snapshot] of store.targets.snapshotsOf(found)) {
    const stored = byId.get(id);
    if (!stored) continue;
    const restored = await retireTarget(store, stored, options);
    watched.set(targetName(stored.target), watchTarget(restored, snapshot, options));
  }
  return [...wanted.keys()].flatMap((name) => watched.get(name) ?? []);
}

/** Ends the incidents of targets, pools and probes that are not configured any more, and removes these probes. */
export async function retireUnconfigured(
  store: StoredState,
  targets: readonly Target[],
  probes: readonly Probe[],
  options: RestoreOptions,
): Promise<void> {
  await retireTargets(store, targets, options);
  await retirePools(store, targets, options);
  await retireProbes(store, probes, options);
}

async function retireTargets(
  store: Pick<StoredState, "targets" | "commitIncidents">,
  configured: readonly Target[],
  { judge, ...options }: RestoreOptions,
): Promise<void> {
  const known = new Set(configured.map(targetName));
  const others = (await store.targets.namesWithIncidents()).filter(
    ({ target }) => !known.has(targetName(target)),
  );
  for (const other of await store.targets.some(others)) {
    await retireTarget(store, other, { ...options, judge: { ...judge, rules: [] } });
  }
}

function retireTarget(
  store: Pick<StoredState, "commitIncidents">,
  stored: RestoredTarget,
  options: RestoreOptions,
): Promise<RestoredTarget> {
  const { id, target } = stored;
  const { judge, nowUtcMs } = options;
  return retireUnowned(
    stored,
    (held) => retireIncidents({ target, ...held }, nowUtcMs, judge),
    (incidents) =>
      commitRetired(options, target, incidents, () => store.commitIncidents(id, incidents)),
  );
}

async function commitRetired(
  { commits, nowUtcMs: atMs }: RestoreOptions,
  target: Target | null,
  incidents: IncidentOutcome,
  store: () => Promise<void>,
): Promise<void> {
  await commits.commit(store);
  await commits.publish({ target, incidents, atMs });
}

/** Targets whose polls are committed together are then stored together, and few pages are written. */
function inOrderOfPolls(targets: readonly Target[]): readonly Target[] {
  const phase = (target: Target): number => phaseOf(targetName(target));
  return targets.toSorted((one, other) => phase(one) - phase(other));
}

/**
 * The probes as the store last knew them. Incidents that no rule owns any more end.
 *
 * @param options.staleAfter runs in a row without news before the last result is withheld
 */
export async function restoreProbes(
  store: Pick<StoredState, "probes" | "incidentsWithoutTarget">,
  configured: readonly Probe[],
  options: RestoreOptions & Pick<WatchOptions, "staleAfter">,
): Promise<readonly WatchedProbe[]> {
  const wanted = configured.flatMap((probe) =>
    subjectsOf(probe).map((subject) => ({ probe, subject })),
  );
  if (wanted.length === 0) return [];
  const known = await store.probes.all();
  const stored = new Map(known.map((each) => [subjectName(each.subject), each]));
  const incidentsOf = await incidentsOfProbes(store);
  const watched: WatchedProbe[] = [];
  for (const { probe, subject } of wanted) {
    const found = stored.get(subjectName(subject)) ?? (await store.probes.add(subject));
    const restored = await retireProbeOf(store, found, incidentsOf, options);
    watched.push(watchProbe(probe, restored, options.staleAfter));
  }
  return watched;
}

async function retireProbes(
  store: Pick<StoredState, "probes" | "incidentsWithoutTarget">,
  configured: readonly Probe[],
  { judge, ...options }: RestoreOptions,
): Promise<void> {
  const known = new Set(configured.flatMap(subjectsOf).map(subjectName));
  const others = (await store.probes.all()).filter(
    ({ subject }) => !known.has(subjectName(subject)),
  );
  if (others.length === 0) return;
  const incidentsOf = await incidentsOfProbes(store);
  for (const other of others) {
    const by = { ...options, judge: { ...judge, rules: [] } };
    await retireProbeOf(store, other, incidentsOf, by);
    await store.probes.remove(other.id);
  }
}

async function incidentsOfProbes(
  store: Pick<StoredState, "incidentsWithoutTarget">,
): Promise<ReadonlyMap<string, readonly Incident[]>> {
  return Map.groupBy(await store.incidentsWithoutTarget.open(), ({ subject }) =>
    subject.kind === "probe" ? subjectName(subject) : "",
  );
}

function retireProbeOf(
  store: Pick<StoredState, "probes">,
  stored: StoredProbe,
  incidentsOf: ReadonlyMap<string, readonly Incident[]>,
  options: RestoreOptions,
): Promise<RestoredProbe> {
  const { id, subject } = stored;
  const { judge, nowUtcMs } = options;
  const openIncidents = incidentsOf.get(subjectName(subject)) ?? [];
  return retireUnowned(
    { ...stored, openIncidents },
    (held) => retireProbe({ subject, ...held }, nowUtcMs, judge),
    (incidents) =>
      commitRetired(options, null, incidents, () => store.probes.commitRetired(id, incidents)),
  );
}

type PoolState = Pick<StoredState, "incidentsWithoutTarget" | "commitIncidents"> & {
  readonly targets: Pick<Store["targets"], "poolClocks">;
};

/** The pools of targets as the store last knew them. Incidents that no rule owns any more end. */
export async function restorePools(
  store: PoolState,
  targets: readonly Target[],
  options: RestoreOptions,
): Promise<WatchedPools> {
  const { judge, nowUtcMs } = options;
  const rules = judge.rules.filter((rule) => rule.on === "pool");
  const pools = watchPools({
    rules,
    targets,
    openIncidents: rules.length > 0 ? await incidentsOfPools(store) : [],
    clocks: rules.length > 0 ? await store.targets.poolClocks() : [],
  });
  const retired = pools.retire(nowUtcMs, judge);
  const { incidents } = retired.outcome;
  if (incidents.steps.length === 0) return pools;
  await commitRetired(options, null, incidents, () => store.commitIncidents(null, incidents));
  pools.accept(retired);
  return pools;
}

async function retirePools(
  store: PoolState,
  configured: readonly Target[],
  options: RestoreOptions,
): Promise<void> {
  const { judge, nowUtcMs } = options;
  const rules = judge.rules.filter((rule) => rule.on === "pool");
  const openIncidents = await incidentsOfPools(store);
  if (openIncidents.length === 0) return;
  const pools = watchPools({ rules, targets: configured, openIncidents, clocks: [] });
  const incidents = pools.retireOthers(nowUtcMs, judge);
  if (incidents.steps.length === 0) return;
  await commitRetired(options, null, incidents, () => store.commitIncidents(null, incidents));
}

async function incidentsOfPools(
  store: Pick<StoredState, "incidentsWithoutTarget">,
): Promise<readonly Incident[]> {
  const open = await store.incidentsWithoutTarget.open();
  return open.filter(({ subject }) => isPool(subject));
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
