import { kindOf } from "./deviation.ts";
import type { Deviation } from "./deviation.ts";
import type { Operation } from "./model.ts";

/** How one response deviates from the interface. */
export interface Drift {
  readonly operation: Operation;
  readonly region: string;
  readonly deviations: readonly Deviation[];
}

/** One way in which the responses of an operation in a region deviate from the interface. */
export interface DriftRecord extends Deviation {
  readonly operation: Operation;
  readonly region: string;
  /** UTC milliseconds. */
  readonly firstSeenAtMs: number;
  readonly lastSeenAtMs: number;
}

/** Remembers every kind of drift that was seen, within a bound. */
export interface DriftRegistry {
  /** @returns those that are new: not seen before in this region or any other */
  add(drift: Drift, atMs: number): readonly DriftRecord[];
  /** What is new, or was counted, since it was taken last. */
  takeChanged(): readonly DriftRecord[];
  /** They could not be stored: they are taken again next time, as they are then. */
  giveBack(records: readonly DriftRecord[]): void;
  /** Forgets what was last seen before a moment. */
  forget(beforeMs: number): void;
  records(): readonly DriftRecord[];
  readonly hasChanged: boolean;
}

/**
 * The service chooses the names of fields and words: of an operation in a region this many are told apart. More
 * are counted together, in the field `other` and as a word that is not shown.
 */
const mostInvented = 200;
const otherField = "other";
const otherWord = "text";

/** @param stored what was stored of it before */
export function createDriftRegistry(stored: readonly DriftRecord[]): DriftRegistry {
  const records = new Map(stored.map((record) => [keyOf(record), record]));
  const changed = new Set<string>();

  const bounded = (deviation: Deviation, { operation, region }: Drift): Deviation => {
    if (!isInvented(deviation)) return deviation;
    const invented = records
      .values()
      .filter((each) => each.operation === operation && each.region === region && isInvented(each));
    if (invented.drop(mostInvented - 1).next().done) return deviation;
    return deviation.problem === "unknown_field"
      ? { ...deviation, field: otherField }
      : { ...deviation, example: otherWord };
  };

  const count = (deviation: Deviation, drift: Drift, atMs: number): DriftRecord | null => {
    const { operation, region } = drift;
    const scope = { operation, region };
    const within = records.has(keyOf({ ...scope, ...deviation }))
      ? deviation
      : bounded(deviation, drift);
    const key = keyOf({ ...scope, ...within });
    const known = records.get(key);
    changed.add(key);
    if (known) {
      const lastSeenAtMs = Math.max(known.lastSeenAtMs, atMs);
      records.set(key, { ...known, count: known.count + within.count, lastSeenAtMs });
      return null;
    }
    const kind = JSON.stringify(kindOf(within));
    const isNew = !records
      .values()
      .some((each) => each.operation === operation && JSON.stringify(kindOf(each)) === kind);
    const record = { ...scope, ...within, firstSeenAtMs: atMs, lastSeenAtMs: atMs };
    records.set(key, record);
    return isNew ? record : null;
  };

  return {
    add: (drift, atMs) =>
      drift.deviations.flatMap((deviation) => count(deviation, drift, atMs) ?? []),
    takeChanged() {
      const taken = [...changed].flatMap((key) => records.get(key) ?? []);
      changed.clear();
      return taken;
    },
    giveBack(notStored) {
      for (const record of notStored) changed.add(keyOf(record));
    },
    forget(beforeMs) {
      for (const [key, { lastSeenAtMs }] of records) {
        if (lastSeenAtMs >= beforeMs) continue;
        records.delete(key);
        changed.delete(key);
      }
    },
    records: () => [...records.values()],
    get hasChanged() {
      return changed.size > 0;
    },
  };
}

function keyOf(record: Omit<Drift, "deviations"> & Omit<Deviation, "count">): string {
  return JSON.stringify([record.operation, record.region, kindOf(record)]);
}

/** Whether the service chose what it is known by. */
function isInvented({ field, problem, example }: Deviation): boolean {
  if (problem === "unknown_field") return field !== otherField;
  return problem === "unknown_value" && example !== otherWord;
}
