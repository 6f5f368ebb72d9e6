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

/**
 * The service chooses the names of fields and words: this many of an operation in a region are counted apart. More
 * are counted together, in the field `other` and as a word that is not shown.
 */
const mostInvented = 200;
const otherField = "other";
const otherWord = "text";

/**
 * Remembers every kind of drift that was observed, within a bound.
 *
 * @param stored what was stored of it before
 */
export function createDriftRegistry(stored: readonly DriftRecord[]) {
  const records = new Map(stored.map((record) => [keyOf(record), record]));
  /** How often each was observed since it was taken last. */
  const changed = new Map<string, number>();
  const addChanged = (key: string, count: number): void =>
    void changed.set(key, (changed.get(key) ?? 0) + count);

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
    const isKnown = records.has(keyOf({ operation, region, ...deviation }));
    const found = { operation, region, ...(isKnown ? deviation : bounded(deviation, drift)) };
    const key = keyOf(found);
    const known = records.get(key);
    addChanged(key, found.count);
    if (known) {
      const lastSeenAtMs = Math.max(known.lastSeenAtMs, atMs);
      records.set(key, { ...known, count: known.count + found.count, lastSeenAtMs });
      return null;
    }
    const kind = JSON.stringify(kindOf(found));
    const isNew = !records
      .values()
      .some((each) => each.operation === operation && JSON.stringify(kindOf(each)) === kind);
    const record = { ...found, firstSeenAtMs: atMs, lastSeenAtMs: atMs };
    records.set(key, record);
    return isNew ? record : null;
  };

  return {
    /** @returns those that are new: not observed before in this region or any other */
    add: (drift: Drift, atMs: number): readonly DriftRecord[] =>
      drift.deviations.flatMap((deviation) => count(deviation, drift, atMs) ?? []),
    /** What was observed since it was taken last, with how often it was since then. */
    takeChanged(): readonly DriftRecord[] {
      const taken = [...changed].flatMap(([key, more]) => {
        const record = records.get(key);
        return record ? [{ ...record, count: more }] : [];
      });
      changed.clear();
      return taken;
    },
    /** Storing failed: the next call takes it again. */
    giveBack(notStored: readonly DriftRecord[]): void {
      for (const record of notStored) addChanged(keyOf(record), record.count);
    },
    /** Forgets what was last observed before a moment. */
    forget(beforeMs: number): void {
      for (const [key, { lastSeenAtMs }] of records) {
        if (lastSeenAtMs >= beforeMs) continue;
        records.delete(key);
        changed.delete(key);
      }
    },
    records: (): readonly DriftRecord[] => [...records.values()],
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
