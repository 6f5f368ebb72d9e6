import { kindOf } from "./deviation.ts";
import type { Deviation } from "./deviation.ts";
import type { Operation } from "./model.ts";

/** One way in which the answers of an operation in a region differ from the interface. */
export interface DriftRecord extends Deviation {
  readonly operation: Operation;
  readonly region: string;
  /** UTC milliseconds. */
  readonly firstSeenAtMs: number;
  readonly lastSeenAtMs: number;
}

/** How one answer differs. */
export interface DriftSighting {
  readonly operation: Operation;
  readonly region: string;
  readonly deviations: readonly Deviation[];
}

/** Remembers every kind of drift that was seen, within a bound. */
export interface DriftLedger {
  /** @returns those that are new: not seen before in this region or any other */
  take(sighting: DriftSighting, atMs: number): readonly DriftRecord[];
  /** What is new, or counts more, since it was asked last. */
  takeChanged(): readonly DriftRecord[];
  /** They could not be kept: asked next time they are given again, as they are by then. */
  giveBack(records: readonly DriftRecord[]): void;
  /** Forgets what was last seen before a moment. */
  forget(beforeMs: number): void;
  records(): readonly DriftRecord[];
  readonly hasChanged: boolean;
}

/**
 * The service chooses names of fields and words: of an operation in a region so many are told apart. More
 * are counted together, in the field `other` and as a word that is not told.
 */
const mostInvented = 200;
const otherField = "other";
const otherWord = "text";

type Mutable = { -readonly [Field in keyof DriftRecord]: DriftRecord[Field] };

/** The records of an operation in a region. */
interface Scope {
  readonly records: Map<string, Mutable>;
  invented: number;
}

/** @param kept what was kept of it before */
export function createDriftLedger(kept: readonly DriftRecord[]): DriftLedger {
  const scopes = new Map<string, Scope>();
  /** How many regions have each kind, by operation. */
  const kinds = new Map<string, number>();
  const changed = new Set<Mutable>();

  const scopeOf = (operation: Operation, region: string): Scope => {
    const name = `${operation}/${region}`;
    const scope = scopes.get(name) ?? { records: new Map(), invented: 0 };
    scopes.set(name, scope);
    return scope;
  };

  const add = (record: DriftRecord): Mutable => {
    const scope = scopeOf(record.operation, record.region);
    const added = { ...record };
    scope.records.set(keyOf(record), added);
    if (isInvented(record)) scope.invented += 1;
    const kind = record.operation + keyOf(record);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    return added;
  };
  for (const record of kept) add(record);

  const bounded = (deviation: Deviation, { records, invented }: Scope): Deviation => {
    const isKnown = records.has(keyOf(deviation));
    if (isKnown || !isInvented(deviation) || invented < mostInvented) return deviation;
    return deviation.problem === "unknown_field"
      ? { ...deviation, field: otherField }
      : { ...deviation, example: otherWord };
  };

  const count = (
    deviation: Deviation,
    { operation, region }: DriftSighting,
    atMs: number,
  ): DriftRecord | null => {
    const scope = scopeOf(operation, region);
    const within = bounded(deviation, scope);
    const known = scope.records.get(keyOf(within));
    if (known) {
      known.count += within.count;
      known.lastSeenAtMs = Math.max(known.lastSeenAtMs, atMs);
      changed.add(known);
      return null;
    }
    const record = { ...within, operation, region, firstSeenAtMs: atMs, lastSeenAtMs: atMs };
    const isNew = !kinds.has(operation + keyOf(record));
    changed.add(add(record));
    return isNew ? record : null;
  };

  return {
    take: (sighting, atMs) =>
      sighting.deviations.flatMap((deviation) => count(deviation, sighting, atMs) ?? []),
    takeChanged() {
      const taken = Array.from(changed, (record) => ({ ...record }));
      changed.clear();
      return taken;
    },
    giveBack(records) {
      for (const record of records) {
        const known = scopeOf(record.operation, record.region).records.get(keyOf(record));
        if (known) changed.add(known);
      }
    },
    forget(beforeMs) {
      for (const scope of scopes.values()) {
        for (const [key, record] of scope.records) {
          if (record.lastSeenAtMs >= beforeMs) continue;
          scope.records.delete(key);
          changed.delete(record);
          if (isInvented(record)) scope.invented -= 1;
          const kind = record.operation + key;
          const others = (kinds.get(kind) ?? 1) - 1;
          if (others === 0) kinds.delete(kind);
          else kinds.set(kind, others);
        }
      }
    },
    records: () =>
      [...scopes.values()].flatMap(({ records }) =>
        Array.from(records.values(), (record) => ({ ...record })),
      ),
    get hasChanged() {
      return changed.size > 0;
    },
  };
}

function keyOf(deviation: Deviation): string {
  return JSON.stringify(kindOf(deviation));
}

/** Whether the service chose what it is known by. */
function isInvented({ field, problem, example }: Deviation): boolean {
  if (problem === "unknown_field") return field !== otherField;
  return problem === "unknown_value" && example !== otherWord;
}
