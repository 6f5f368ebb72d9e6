import type { Bucket } from "../fleet/buckets.ts";
import type { Cell } from "./cells.ts";
import type { AverageServers } from "./estimates.ts";
import type { Group, Groups } from "./groups.ts";
import type { IncidentTime } from "./incident-times.ts";
import type { ReportRow } from "./row.ts";
import { addServers, addUnobserved, emptySums } from "./row-sums.ts";
import type { RowSums } from "./row-sums.ts";

/** What is added up for the rows of one cell, or of all that are alike. */
export interface CellSums {
  readonly cell: Cell;
  readonly rows: Map<Group, RowSums>;
  /** By number of target: for how long it was watched, and for how long nothing is known of it. */
  readonly observedMs: Float64Array;
  readonly missingMs: Float64Array;
}

export function emptyCell(cell: Cell, targets: number): CellSums {
  return {
    cell,
    rows: new Map(),
    observedMs: new Float64Array(targets),
    missingMs: new Float64Array(targets),
  };
}

function sumsOf({ rows }: CellSums, group: Group): RowSums {
  let sums = rows.get(group);
  if (!sums) rows.set(group, (sums = emptySums()));
  return sums;
}

export function addBucketToCell(
  cell: CellSums,
  groups: Groups,
  target: number,
  { startMs, recordedMs, unobservedMs, names }: Bucket,
): void {
  addAt(cell.observedMs, target, recordedMs - unobservedMs);
  for (const [name, account] of names) {
    const sums = sumsOf(cell, groups.leafOf(target, name).group);
    addServers(sums, target, account);
    if (account.extent) sums.peak.add(startMs, account.extent.most.occupied);
  }
}

export function addMissing(cell: CellSums, target: number, ms: number): void {
  addAt(cell.missingMs, target, ms);
}

export function addIncident(cell: CellSums, groups: Groups, incident: IncidentTime): void {
  const { target, serverName, recoveryMs } = incident;
  const name = groups.aggregateName(target, serverName);
  const sums = sumsOf(cell, groups.leafOf(target, name).group);
  if (recoveryMs === null) {
    sums.incidents += 1;
  } else {
    sums.recoveries += 1;
    sums.recoveryMs += recoveryMs;
  }
}

export function hasMissing({ missingMs }: CellSums): boolean {
  return missingMs.some((ms) => ms > 0);
}

/** Adds what is not known as unobserved time of as many servers as there are otherwise. */
export function bookMissing(cell: CellSums, groups: Groups, average: AverageServers): void {
  for (const [target, ms] of cell.missingMs.entries()) {
    if (ms === 0) continue;
    for (const leaf of groups.leavesOf(target)) {
      const serverMs = ms * average(target, leaf);
      if (serverMs > 0) addUnobserved(sumsOf(cell, leaf.group), serverMs);
    }
  }
}

/** By name there are rows only of what there was; otherwise also of groups without any server. */
export function* rowsOfCell(cell: CellSums, groups: Groups): Iterable<ReportRow> {
  for (const group of groups.inOrder()) {
    const sums = cell.rows.get(group);
    if (sums || !groups.byName) yield toRow(cell, group, sums ?? emptySums());
  }
}

function toRow({ cell, observedMs }: CellSums, group: Group, sums: RowSums): ReportRow {
  const isObserved = [...group.targets].some((target) => (observedMs[target] ?? 0) > 0);
  // Each target by the time that it was watched: that of others says nothing of it.
  let occupied = 0;
  for (const [target, ms] of sums.occupiedMs) {
    const ofMs = observedMs[target] ?? 0;
    if (ofMs > 0) occupied += ms / ofMs;
  }
  return {
    group: { ...cell.labels, ...group.values },
    ms: sums.servers.ms,
    unobservedMs: sums.servers.unobservedMs,
    isObserved,
    occupiedAverage: isObserved ? occupied : null,
    occupiedPeak: sums.peak.get(),
    dwells: sums.servers.dwells,
    incidents: sums.incidents,
    recoveries: { count: sums.recoveries, ms: sums.recoveryMs },
  };
}

function addAt(array: Float64Array, index: number, ms: number): void {
  array[index] = (array[index] ?? 0) + ms;
}
