import type { WatchedView } from "../../alerts/target-view.ts";
import { addTimes, countByStatus, noneByStatus, type CountByStatus } from "../../fleet/tallies.ts";
import { eachInSlices, type Slices } from "../../fleet/slices.ts";

/** Servers or sandboxes by their status; `unobserved` are those of targets that are stale. */
export interface Totals extends CountByStatus {
  readonly unobserved: number;
}

const none: Totals = { ...noneByStatus, unobserved: 0 };

export interface FleetTotals {
  /** Of servers, as the following ones. */
  readonly all: Totals;
  readonly sandboxes: Totals;
  readonly byRegion: ReadonlyMap<string, Totals>;
  readonly byKey: ReadonlyMap<string, Totals>;
  /** The server name of which the fewest are idle; null: no server is observed. */
  readonly tightest: { readonly serverName: string; readonly idle: number } | null;
}

export function totalsOf({ state, withheld }: WatchedView): Totals {
  return presentTotals(state.snapshot.tallies.servers, withheld);
}

/** What was last observed, as the present if it is not stale. */
export function presentTotals(counts: CountByStatus, isStale: boolean): Totals {
  return isStale ? { ...none, unobserved: countByStatus(counts) } : { ...counts, unobserved: 0 };
}

export function countAll(totals: Totals): number {
  return countByStatus(totals) + totals.unobserved;
}

const targetsPerSlice = 64;

export function* sumFleet(targets: readonly WatchedView[]): Slices<FleetTotals> {
  let all = none;
  let sandboxes = none;
  const byRegion = new Map<string, Totals>();
  const byKey = new Map<string, Totals>();
  const byName = new Map<string, { idle: number; servers: number }>();
  yield* eachInSlices(targets, targetsPerSlice, (view) => {
    const { target, state, withheld } = view;
    const totals = totalsOf(view);
    all = add(all, totals);
    sandboxes = add(sandboxes, presentTotals(state.snapshot.tallies.sandboxes, withheld));
    byRegion.set(target.region, add(byRegion.get(target.region) ?? none, totals));
    byKey.set(target.key, add(byKey.get(target.key) ?? none, totals));
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
  return { all, sandboxes, byRegion, byKey, tightest: tightest ?? null };
}

function add(one: Totals, other: Totals): Totals {
  return { ...addTimes(one, other, 1), unobserved: one.unobserved + other.unobserved };
}
