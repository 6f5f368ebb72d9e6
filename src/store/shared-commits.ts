import { setImmediate } from "node:timers/promises";
import type { Transaction } from "kysely";
import type { Db, Tables } from "./tables.ts";

/** A write that is committed completely or not at all, in a transaction that others may share. */
export interface Part {
  /** The target by its number, or what else it is about; null: nothing in particular. */
  readonly owner: number | string | null;
  /** About how many rows it writes. */
  readonly rows: number;
  readonly write?: (trx: Transaction<Tables>, together: Together) => Promise<void>;
  /** The same for what comes after everything that is written together. */
  readonly writeNumbered?: (trx: Transaction<Tables>) => Promise<void>;
}

interface Waiting extends Part {
  readonly settle: PromiseWithResolvers<void>;
}

/** Has rows written with those of other parts, in few statements. */
export type Together = <Row>(write: WriteRows<Row>, rows: Iterable<Row>) => void;

type WriteRows<Row> = (trx: Db, rows: Iterable<Row>) => Promise<unknown>;

/** A transaction has no more rows than this, unless one part has: the event loop stands still while it is written. */
const mostRows = 500;

export type SharedCommits = ReturnType<typeof createSharedCommits>;

/**
 * Combines writes that arrive in the same turn of the event loop, or during the commit before, into one transaction, as
 * each transaction waits for the disk.
 */
export function createSharedCommits(kysely: Db) {
  let waiting: Waiting[] = [];
  /** Whose last part was not stored with others. The next one has a transaction of its own: no other part can fail it again. */
  const alone = new Set<Part["owner"]>();
  let isCommitting = false;
  let committing = Promise.resolve();

  const writeAll = async (trx: Transaction<Tables>, parts: readonly Waiting[]): Promise<void> => {
    const { together, flush } = createTogether();
    for (const part of parts) await part.write?.(trx, together);
    await flush(trx);
    for (const part of parts) await part.writeNumbered?.(trx);
  };

  const commitTogether = async (parts: readonly Waiting[]): Promise<void> => {
    try {
      await kysely.transaction().execute((trx) => writeAll(trx, parts));
      for (const { owner, settle } of parts) {
        alone.delete(owner);
        settle.resolve();
      }
    } catch (error) {
      for (const { owner, settle } of parts) {
        if (!alone.delete(owner)) alone.add(owner);
        settle.reject(error);
      }
    }
  };

  const commitWaiting = async (): Promise<void> => {
    while (waiting.length > 0) {
      // Include writes that arrive in this turn of the event loop.
      await setImmediate();
      const parts = waiting;
      waiting = [];
      for (const [index, group] of groups(parts, alone).entries()) {
        if (index > 0) await setImmediate();
        await commitTogether(group);
      }
    }
    isCommitting = false;
  };

  return {
    /** In the order of the calls. Resolves once the part is committed, rejects when its transaction could not be. */
    add(part: Part): Promise<void> {
      const settle = Promise.withResolvers<void>();
      waiting.push({ ...part, settle });
      if (!isCommitting) {
        isCommitting = true;
        committing = commitWaiting();
      }
      return settle.promise;
    },
    /** Resolves when all that was added is settled. */
    end: (): Promise<void> => committing,
  };
}

function createTogether() {
  const all = new Map<unknown, JoinedRows>();
  const together: Together = (write, rows) => {
    const joined = all.get(write) ?? joinRows(write);
    all.set(write, joined);
    joined.add(rows);
  };
  const flush = async (trx: Db): Promise<void> => {
    for (const joined of all.values()) await joined.flush(trx);
  };
  return { together, flush };
}

/** Rows of the one type that its function writes. */
interface JoinedRows {
  add(rows: Iterable<unknown>): void;
  flush(trx: Db): Promise<unknown>;
}

function joinRows<Row>(write: WriteRows<Row>): JoinedRows {
  const all: Iterable<Row>[] = [];
  return {
    add: (rows: Iterable<Row>) => void all.push(rows),
    flush: (trx) =>
      write(
        trx,
        all.values().flatMap((rows) => rows),
      ),
  };
}

/**
 * As they came, as many together as are not too many rows: a large one is alone. What is written of an
 * owner may depend on what was committed of it before, so no two of one owner are together.
 *
 * @param alone whose part is together with no other
 */
function groups(
  parts: readonly Waiting[],
  alone: ReadonlySet<Part["owner"]>,
): readonly (readonly Waiting[])[] {
  const all: Waiting[][] = [];
  const owners = new Set<Part["owner"]>();
  let rows = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    const isAlone = alone.has(part.owner);
    rows += part.rows;
    if (isAlone || rows > mostRows || owners.has(part.owner)) {
      all.push([]);
      owners.clear();
      ({ rows } = part);
    }
    if (isAlone) rows = Number.POSITIVE_INFINITY;
    owners.add(part.owner);
    all.at(-1)?.push(part);
  }
  return all;
}
