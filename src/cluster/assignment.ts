import { phaseOf } from "../fleet/schedule.ts";
import { longestLeaseMs, type ClusterView, type Replica } from "../fleet/replicas.ts";

const keyUnits = 256;

/** All targets and probes of a key belong to one unit, so that one replica counts the calls made with it. */
export function unitOfKey(key: string): string {
  return `key:${Math.floor(phaseOf(key) * keyUnits)}`;
}

export const unitOfReceiver = (receiver: string): string => `receiver:${receiver}`;
export const unitOfRegion = (region: string): string => `region:${region}`;
export const unitOfPool = (scope: string): string => `pool:${scope}`;
/** What is done once for the whole store: deletion of old rows, scheduled reports. */
export const upkeepUnit = "upkeep";

/** The units that a configuration makes. */
export function unitsOf(names: {
  readonly keys: readonly string[];
  readonly receivers: readonly string[];
  readonly regions: readonly string[];
  /** The scopes of the pools that are judged across keys. */
  readonly pools: readonly string[];
}): readonly string[] {
  const { keys, receivers, regions, pools } = names;
  return [
    ...new Set(keys.map(unitOfKey)),
    ...receivers.map(unitOfReceiver),
    ...regions.map(unitOfRegion),
    ...pools.map(unitOfPool),
    upkeepUnit,
  ];
}

/** Whether the lease of a replica has not ended, by the clock of the database. */
export function isLive({ expiresAtMs }: Replica, { nowMs }: ClusterView): boolean {
  return expiresAtMs > nowMs && expiresAtMs <= nowMs + longestLeaseMs;
}

export const liveReplicas = (view: ClusterView) =>
  view.replicas.filter((each) => isLive(each, view));

function newestOf(replicas: readonly Replica[]): readonly Replica[] {
  const newest = Math.max(...replicas.map(({ generation }) => generation));
  return replicas.filter(({ generation }) => generation === newest);
}

/** Those that have the newest configuration among the live replicas. */
export const currentReplicas = (view: ClusterView) => newestOf(liveReplicas(view));

/** Those to which units fall. */
const eligibleReplicas = (view: ClusterView) =>
  newestOf(liveReplicas(view).filter(({ takesUnits }) => takesUnits));

/** How many live replicas have the newest configuration among them, and how many an older one. */
export function countReplicas(view: ClusterView) {
  const current = currentReplicas(view).length;
  return { current, older: liveReplicas(view).length - current };
}

/** The ids of the replicas that shall own the units: rendezvous hashing, so that few units move when one comes or goes. */
export function ownersOf(
  units: readonly string[],
  replicas: readonly Pick<Replica, "id">[],
): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const unit of units) {
    let highest = -1;
    for (const { id } of replicas) {
      const weight = phaseOf(`${unit} ${id}`);
      if (weight <= highest) continue;
      highest = weight;
      owners.set(unit, id);
    }
  }
  return owners;
}

export interface UnitPlan {
  /** Units to claim: no live replica owns them, and the replica shall. */
  readonly claim: readonly string[];
  /** Units that it owns and another one shall own. */
  readonly giveUp: readonly string[];
  /** Whether no units fall to it, as a newer configuration is in use or was. Then it keeps what it owns until it stops. */
  readonly isOlder: boolean;
}

/**
 * What a live replica does with the units of its configuration.
 *
 * @param id of the replica
 * @param own the units that it works for
 */
export function planUnits(
  view: ClusterView,
  id: string,
  units: readonly string[],
  own: ReadonlySet<string>,
): UnitPlan {
  const replicas = eligibleReplicas(view);
  if (!replicas.some((each) => each.id === id)) return { claim: [], giveUp: [], isOlder: true };
  const owners = ownersOf(units, replicas);
  const live = new Set(liveReplicas(view).map((each) => each.id));
  const taken = new Set(
    view.units.filter(({ replica }) => live.has(replica)).map(({ name }) => name),
  );
  return {
    claim: units.filter((unit) => owners.get(unit) === id && !own.has(unit) && !taken.has(unit)),
    giveUp: units.filter((unit) => owners.get(unit) !== id && own.has(unit)),
    isOlder: false,
  };
}
