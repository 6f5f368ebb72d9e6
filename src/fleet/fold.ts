import { emptyAccount, type Bucket, type NameAccount, type Peaks } from "./buckets.ts";
import { addDwells, dwellsOf, noDwells, type DwellHistogram } from "./dwell.ts";
import { statuses, type Status } from "./model.ts";
import { addTimes, noneByStatus, type CountByStatus } from "./tallies.ts";

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

  /** Counts servers or sandboxes of a value from a moment on, or does not any more. */
  add(value: string, atMs: number, counts: Counts, by: 1 | -1): void {
    const sums = this.sumsOf(value);
    this.addTime(sums, atMs);
    for (const state of states) sums.counts[state] += by * counts[state];
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

const states = [...statuses, "missing"] as const;

/**
 * Folds several targets as if they were one, of which each has its own gaps: what is unobserved of one is missing. Calls are in
 * order of time.
 */
export class JointFold {
  private readonly fold: Fold;
  private readonly isUnobserved = new Set<number>();
  private readonly counts = new Map<number, Map<string, Counts>>();

  constructor(atMs: number) {
    this.fold = new Fold({ atMs, isObserved: true, counts: new Map() });
  }

  /** Counts some of a target from a moment on, or does not any more. */
  add(target: number, atMs: number, value: string, counts: Counts, by: 1 | -1): void {
    let ofTarget = this.counts.get(target);
    if (!ofTarget) this.counts.set(target, (ofTarget = new Map()));
    const known = ofTarget.get(value) ?? noCounts;
    ofTarget.set(value, addCounts(known, counts, by));
    this.fold.add(value, atMs, this.observedOf(target, counts), by);
  }

  step(target: number, { atMs, from, to }: Step): void {
    for (const value of from?.values ?? []) this.add(target, atMs, value, countOf(from), -1);
    for (const value of to?.values ?? []) this.add(target, atMs, value, countOf(to), 1);
  }

  /** A gap of a target begins or ends. */
  observe(target: number, atMs: number, isObserved: boolean): void {
    const all = [...(this.counts.get(target) ?? [])];
    for (const [value, counts] of all) {
      this.fold.add(value, atMs, this.observedOf(target, counts), -1);
    }
    if (isObserved) this.isUnobserved.delete(target);
    else this.isUnobserved.add(target);
    for (const [value, counts] of all) {
      this.fold.add(value, atMs, this.observedOf(target, counts), 1);
    }
  }

  take(startMs: number, endMs: number): Bucket {
    return this.fold.take(startMs, endMs);
  }

  private observedOf(target: number, counts: Counts): Counts {
    if (!this.isUnobserved.has(target)) return counts;
    return { ...noCounts, missing: states.reduce((sum, state) => sum + counts[state], 0) };
  }
}

export const noCounts: Counts = { ...noneByStatus, missing: 0 };

export function addCounts(to: Counts, counts: Counts, by: 1 | -1): Counts {
  return { ...addTimes(to, counts, by), missing: to.missing + by * counts.missing };
}

/** One server or sandbox. */
export function countOf(standing: Standing | null): Counts {
  return standing
    ? { ...noCounts, [standing.isMissing ? "missing" : standing.status]: 1 }
    : noCounts;
}

function emptySums(sinceMs: number): Sums {
  return {
    counts: { ...noCounts },
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
