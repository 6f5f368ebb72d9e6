import { phaseOf } from "../fleet/schedule.ts";
import type { Replica } from "./replica-store.ts";

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

/** Those that have the newest configuration among the replicas. Only they take further units. */
export function eligible<R extends Pick<Replica, "generation">>(replicas: readonly R[]): R[] {
  const newest = Math.max(...replicas.map(({ generation }) => generation));
  return replicas.filter(({ generation }) => generation === newest);
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
