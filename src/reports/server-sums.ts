import type { Status } from "../fleet/status.ts";
import { addDwells, dwellsOf, noDwells } from "../fleet/dwell.ts";
import type { DwellHistogram } from "../fleet/dwell.ts";
import { noneByStatus } from "../fleet/tallies.ts";
import type { GapTimes } from "./gap-times.ts";
import type { ServerState } from "./server-states.ts";
import type { TimeRange } from "./time-range.ts";

/** What is added up of a server, or of the servers of a sandbox. */
export interface UnitSums {
  readonly first: ServerState;
  readonly ms: Record<Status, number>;
  unobservedMs: number;
  dwells: DwellHistogram;
  /** How many are occupied, since when, and the most that were while it was watched. */
  occupied: number;
  sinceMs: number;
  most: number | null;
  incidents: number;
  recoveries: number;
  recoveryMs: number;
}

export function emptyUnit(first: ServerState, sinceMs: number): UnitSums {
  return {
    first,
    ms: { ...noneByStatus },
    unobservedMs: 0,
    dwells: noDwells,
    occupied: 0,
    sinceMs,
    most: null,
    incidents: 0,
    recoveries: 0,
    recoveryMs: 0,
  };
}

/** Adds the time of one of its servers in one state. */
export function addTime(
  unit: UnitSums,
  { status, isMissing }: ServerState,
  { fromMs, toMs }: TimeRange,
  gapMs: GapTimes,
): void {
  if (toMs <= fromMs) return;
  const unobservedMs = isMissing ? toMs - fromMs : gapMs(fromMs, toMs);
  unit.unobservedMs += unobservedMs;
  unit.ms[status] += toMs - fromMs - unobservedMs;
}

export function addDwell(unit: UnitSums, dwellMs: number): void {
  unit.dwells = addDwells(unit.dwells, dwellsOf([dwellMs]));
}

/**
 * Counts one more or one less occupied from a moment on. What there was in between, where several
 * changed at once, lasted for no time and does not count.
 */
export function addOccupied(unit: UnitSums, by: number, atMs: number, gapMs: GapTimes): void {
  if (atMs > unit.sinceMs) {
    const isWatched = gapMs(unit.sinceMs, atMs) < atMs - unit.sinceMs;
    if (isWatched) unit.most = Math.max(unit.most ?? 0, unit.occupied);
    unit.sinceMs = atMs;
  }
  unit.occupied += by;
}
