import { setImmediate } from "node:timers/promises";
import type { Kysely, Transaction } from "kysely";
import type { Clock } from "../lib/clock.ts";
import type { Tables } from "./tables.ts";

/** What is committed whole or not at all, in a transaction that others may share. */
export interface Part {
  /** The target by its number, or whatever else it is about; null: nothing in particular. */
  readonly owner: number | string | null;
  /** About how many rows it writes. */
  readonly rows: number;
  /** Whether it may wait for others to share a transaction with. */
  readonly isPatient: boolean;
  /**
   * Called once more when the transaction was rolled back for another's sake.
   *
   * @returns what to call once it is committed, if anything
   */
  readonly write: (trx: Transaction<Tables>) => Promise<(() => void) | null>;
}

/** Puts what comes at about the same time into one transaction: each costs a wait for the disk. */
export interface SharedCommits {
  /** In the order of the calls. Resolves once the part is committed, rejects when it could not be. */
  add(part: Part): Promise<void>;
  /** Nothing more is coming soon: what waits for it is committed now. */
  release(): void;
  /** Resolves when all that was added is settled. */
  end(): Promise<void>;
}

interface Waiting extends Part {
  readonly settle: PromiseWithResolvers<void>;
}

/** How long a patient part waits for others. */
const gatherMs = 100;

/** No more parts than this wait for others. */
const mostWaiting = 100;

/** A transaction has no more rows than this, unless one part has: the event loop stands still while it is written. */
const mostRows = 500;

/** @param clock without one nothing waits for others, but for those of the same moment */
export function createSharedCommits(kysely: Kysely<Tables>, clock?: Clock): SharedCommits {
  let waiting: Waiting[] = [];
  let isDue = false;
  let isCommitting = false;
  let committing = Promise.resolve();
  let cancelTimer: (() => void) | null = null;

  const commitTogether = async (parts: readonly Waiting[]): Promise<void> => {
    const written = await attempt(kysely, parts);
    if (written.kind === "committed") {
      for (const afterwards of written.afterwards) afterwards?.();
      for (const { settle } of parts) settle.resolve();
    } else if (parts.length === 1) {
      for (const { settle } of parts) settle.reject(written.error);
    } else {
      // One that cannot be written takes no other with it: each has a transaction of its own.
      for (const part of parts) await commitTogether([part]);
    }
  };

  const commitDue = async (): Promise<void> => {
    while (isDue) {
      // Whatever else ends in this turn of the event loop joins.
      await setImmediate();
      isDue = false;
      cancelTimer?.();
      cancelTimer = null;
      const parts = waiting;
      waiting = [];
      for (const [index, group] of groups(parts).entries()) {
        if (index > 0) await setImmediate();
        await commitTogether(group);
      }
    }
    isCommitting = false;
  };

  const commitNow = (): void => {
    isDue = true;
    if (isCommitting) return;
    isCommitting = true;
    committing = commitDue();
  };

  return {
    add(part) {
      const settle = Promise.withResolvers<void>();
      waiting.push({ ...part, settle });
      if (!clock || !part.isPatient || waiting.length >= mostWaiting) commitNow();
      else cancelTimer ??= clock.setTimer(gatherMs, commitNow);
      return settle.promise;
    },
    release() {
      if (waiting.length > 0) commitNow();
    },
    async end() {
      if (waiting.length > 0) commitNow();
      await committing;
    },
  };
}

type Attempt =
  | { readonly kind: "committed"; readonly afterwards: readonly ((() => void) | null)[] }
  | { readonly kind: "failed"; readonly error: unknown };

async function attempt(kysely: Kysely<Tables>, parts: readonly Part[]): Promise<Attempt> {
  try {
    const afterwards = await kysely.transaction().execute(async (trx) => {
      const all: ((() => void) | null)[] = [];
      for (const { write } of parts) all.push(await write(trx));
      return all;
    });
    return { kind: "committed", afterwards };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/**
 * As they came, as many together as are not too many rows: a large one is alone. What is written of an
 * owner may depend on what was committed of it before, so no two of one owner are together.
 */
function groups(parts: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const all: Waiting[][] = [];
  const owners = new Set<Part["owner"]>();
  let rows = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    rows += part.rows;
    if (rows > mostRows || owners.has(part.owner)) {
      all.push([]);
      owners.clear();
      ({ rows } = part);
    }
    owners.add(part.owner);
    all.at(-1)?.push(part);
  }
  return all;
}
