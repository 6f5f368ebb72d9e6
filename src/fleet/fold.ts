import { emptyAccount, type Bucket, type NameAccount, type Peaks } from "./buckets.ts";
import { addDwells, dwellsOf, noDwells, type DwellHistogram } from "./dwell.ts";
import { statuses, type Status } from "./status.ts";
import { noneByStatus, type CountByStatus } from "./tallies.ts";

/** How many servers or sandboxes of one value are in each status while they are listed, and how many are missing. */
export interface Counts extends CountByStatus {
  readonly missing: number;
}

/** What a server or sandbox is at a moment. */
export interface Standing {
  readonly status: Status;
  /** Whether the last complete listing lacked it: then its time is unobserved. */
  readonly isMissing: boolean;
  /** The values under which it counts, such as its name. */
  readonly values: readonly string[];
}

/** A server or sandbox leaves one state and arrives in another. Null: it is absent. */
export interface Step {
  readonly atMs: number;
  readonly from: Standing | null;
  readonly to: Standing | null;
  /** How long it was observed in a status that ended. Null: no status ended, or that is not known. */
  readonly dwellMs: number | null;
}

/** What a fold continues from. */
export interface FoldStart {
  readonly atMs: number;
  /** Whether the target was observed from then on. */
  readonly isObserved: boolean;
  readonly counts: ReadonlyMap<string, Counts>;
}

/** The sums of one value since the last cell ended. */
interface Sums {
  readonly counts: Record<Status | "missing", number>;
  sinceMs: number;
  ms: Record<Status, number>;
  unobservedMs: number;
  exhaustedMs: number;
  occupied: number;
  servers: number;
  dwells: DwellHistogram;
}

/**
 * Derives how a target's time was spent from its changes and gaps, forwards in time. Several changes at one moment are one:
 * what there was in between lasted for no time and does not count.
 */
export class Fold {
  private readonly sums = new Map<string, Sums>();
  private atMs: number;
  private isObserved: boolean;
  private recordedMs = 0;
  private unobservedMs = 0;

  constructor({ atMs, isObserved, counts }: FoldStart) {
    this.atMs = atMs;
    this.isObserved = isObserved;
    for (const [value, known] of counts) Object.assign(this.sumsOf(value).counts, known);
  }

  /** In order of time. */
  step({ atMs, from, to, dwellMs }: Step): void {
    for (const value of from?.values ?? []) {
      const sums = this.count(value, atMs, from, -1);
      if (from?.status === "occupied" && dwellMs !== null) {
        sums.dwells = addDwells(sums.dwells, dwellsOf([dwellMs]));
      }
    }
    for (const value of to?.values ?? []) this.count(value, atMs, to, 1);
  }

  /** A gap begins or ends. */
  observe(atMs: number, isObserved: boolean): void {
    this.settle(atMs);
    this.isObserved = isObserved;
  }

  /** Ends a cell, and begins the next one. @param startMs of the cell */
  take(startMs: number, endMs: number): Bucket {
    this.settle(endMs);
    const { recordedMs, unobservedMs } = this;
    const wasObserved = recordedMs > unobservedMs;
    const names = new Map<string, NameAccount>();
    for (const [value, sums] of this.sums) {
      const isEmpty = sums.servers === 0 && sums.unobservedMs === 0 && sums.dwells === noDwells;
      if (!isEmpty) names.set(value, accountOf(sums, wasObserved));
      if (isNone(sums.counts)) this.sums.delete(value);
      else this.sums.set(value, { ...emptySums(endMs), counts: sums.counts });
    }
    [this.recordedMs, this.unobservedMs] = [0, 0];
    return { startMs, recordedMs, unobservedMs, names };
  }

  /** How many there are now, but for values that have none. */
  counts(): ReadonlyMap<string, Counts> {
    const all = this.sums.entries().map(([value, { counts }]) => [value, { ...counts }] as const);
    return new Map(all.filter(([, counts]) => !isNone(counts)));
  }

  private sumsOf(value: string): Sums {
    let sums = this.sums.get(value);
    if (!sums) this.sums.set(value, (sums = emptySums(this.atMs)));
    return sums;
  }

  private count(value: string, atMs: number, standing: Standing | null, by: 1 | -1): Sums {
    const sums = this.sumsOf(value);
    this.addTime(sums, atMs);
    if (standing) sums.counts[standing.isMissing ? "missing" : standing.status] += by;
    return sums;
  }

  private settle(atMs: number): void {
    for (const sums of this.sums.values()) this.addTime(sums, atMs);
    const ms = Math.max(0, atMs - this.atMs);
    this.recordedMs += ms;
    if (!this.isObserved) this.unobservedMs += ms;
    this.atMs += ms;
  }

  private addTime(sums: Sums, atMs: number): void {
    const ms = atMs - sums.sinceMs;
    if (ms <= 0) return;
    sums.sinceMs = atMs;
    const { counts } = sums;
    const listed = statuses.reduce((sum, status) => sum + counts[status], 0);
    if (!this.isObserved) {
      sums.unobservedMs += (listed + counts.missing) * ms;
      return;
    }
    for (const status of statuses) sums.ms[status] += counts[status] * ms;
    sums.unobservedMs += counts.missing * ms;
    if (listed > 0 && counts.idle === 0) sums.exhaustedMs += ms;
    sums.occupied = Math.max(sums.occupied, counts.occupied);
    sums.servers = Math.max(sums.servers, listed);
  }
}

function emptySums(sinceMs: number): Sums {
  return {
    counts: { ...noneByStatus, missing: 0 },
    sinceMs,
    ms: { ...noneByStatus },
    unobservedMs: 0,
    exhaustedMs: 0,
    occupied: 0,
    servers: 0,
    dwells: noDwells,
  };
}

function isNone(counts: Counts): boolean {
  return counts.missing === 0 && statuses.every((status) => counts[status] === 0);
}

function accountOf(sums: Sums, wasObserved: boolean): NameAccount {
  const { ms, unobservedMs, exhaustedMs, occupied, servers, dwells } = sums;
  const peaks: Peaks | null = wasObserved ? { occupied, servers } : null;
  return { ...emptyAccount, ms, unobservedMs, exhaustedMs, peaks, dwells };
}
