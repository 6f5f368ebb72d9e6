import type { WatchedView } from "../../alerts/target-view.ts";
import { addTimes, countByStatus, noneByStatus, type CountByStatus } from "../../fleet/tallies.ts";
import { eachInSlices, type Slices } from "../../fleet/slices.ts";

/** Servers by their status; `unobserved` are those of targets that are stale. */
export interface Totals extends CountByStatus {
  readonly unobserved: number;
}

export const noServers: Totals = { ...noneByStatus, unobserved: 0 };

export interface FleetTotals {
  readonly all: Totals;
  readonly byRegion: ReadonlyMap<string, Totals>;
  readonly byKey: ReadonlyMap<string, Totals>;
  /** The server name of which the fewest are idle; null: no server is observed. */
  readonly tightest: { readonly serverName: string; readonly idle: number } | null;
}

export function totalsOf({ state, withheld }: WatchedView): Totals {
  const { servers } = state.snapshot.tallies;
  return withheld
    ? { ...noServers, unobserved: countByStatus(servers) }
    : { ...servers, unobserved: 0 };
}

export function countAll(totals: Totals): number {
  return countByStatus(totals) + totals.unobserved;
}

const targetsPerSlice = 64;

export function* sumFleet(targets: readonly WatchedView[]): Slices<FleetTotals> {
  let all = noServers;
  const byRegion = new Map<string, Totals>();
  const byKey = new Map<string, Totals>();
  const byName = new Map<string, { idle: number; servers: number }>();
  yield* eachInSlices(targets, targetsPerSlice, (view) => {
    const { target, state, withheld } = view;
    const totals = totalsOf(view);
    all = add(all, totals);
    byRegion.set(target.region, add(byRegion.get(target.region) ?? noServers, totals));
    byKey.set(target.key, add(byKey.get(target.key) ?? noServers, totals));
    if (withheld) return;
    for (const { name, servers } of state.snapshot.tallies.names.values()) {
      const sum = byName.get(name) ?? { idle: 0, servers: 0 };
      sum.idle += servers.idle;
      sum.servers += countByStatus(servers);
      byName.set(name, sum);
    }
  });
  const [tightest] = Array.from(byName, ([serverName, sum]) => ({ serverName, ...sum }))
    .filter(({ servers }) => servers > 0)
    .toSorted((one, other) => one.idle - other.idle || other.servers - one.servers);
  return { all, byRegion, byKey, tightest: tightest ?? null };
}

function add(one: Totals, other: Totals): Totals {
  return { ...addTimes(one, other, 1), unobserved: one.unobserved + other.unobserved };
}
