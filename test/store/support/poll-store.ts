import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { onTestFinished } from "vitest";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import type { WatchedTarget } from "../../../src/polling/watched-target.ts";
import { createChangeBundling } from "../../../src/store/bundle-changes.ts";
import type { BundleSizes } from "../../../src/store/bundle-changes.ts";
import { openDatabase } from "../../../src/store/database.ts";
import { createStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { research, startMs } from "../../support/fleet.ts";
import { openFresh } from "../../support/fresh-store.ts";
import { addTarget } from "../../support/add-target.ts";

export interface PollStore {
  readonly store: Store;
  readonly targetId: number;
  readonly rows: (table: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly sql: (statement: RawBuilder<unknown>) => Promise<void>;
  /** Every row of every table. */
  readonly everything: () => Promise<unknown>;
  /** How many rows were written, changed or removed meanwhile. */
  readonly written: (during: () => Promise<unknown>) => Promise<number>;
  /** Bundles changes, with so many steps at most. */
  readonly bundle: (sizes: BundleSizes, steps?: number) => Promise<void>;
  /** Leaves so many pages more than it has, as a disk that is nearly full does. */
  readonly limitPages: (more: number) => Promise<void>;
}

const tables = [
  "targets",
  "pages",
  "page_edits",
  "changes",
  "change_bundles",
  "incidents",
  "flap_records",
  "outbox_items",
];

export async function openPollStore(path?: string): Promise<PollStore> {
  const database = path === undefined ? openFresh() : openDatabase(path);
  const { kysely } = database;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= database.close());
  onTestFinished(close);
  const store = createStore(kysely, close);
  const { id: targetId } = await addTarget(store, research);
  const rows: PollStore["rows"] = async (table) =>
    (await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(kysely)).rows;
  const totalChanges = async (): Promise<number> => {
    const { rows: found } = await sql<{ n: number }>`select total_changes() as n`.execute(kysely);
    return found[0]?.n ?? Number.NaN;
  };
  return {
    store,
    targetId,
    rows,
    async sql(statement) {
      await statement.execute(kysely);
    },
    everything: () => Promise.all(tables.map(rows)),
    async bundle(sizes, steps = Infinity) {
      const step = createChangeBundling(kysely, sizes);
      for (let left = steps; left > 0 && (await step()); left--);
    },
    async limitPages(more) {
      const { rows: found } = await sql<{ page_count: number }>`pragma page_count`.execute(kysely);
      const pages = (found[0]?.page_count ?? 0) + more;
      await sql`pragma max_page_count = ${sql.lit(pages)}`.execute(kysely);
    },
    async written(during) {
      const before = await totalChanges();
      await during();
      return (await totalChanges()) - before;
    },
  };
}

/** A target's whole content in one order, whatever order it came in. */
export function contentOfTarget({ state }: WatchedTarget) {
  const sorted = (rows: Iterable<object>) => Array.from(rows, (row) => sortedJson(row)).toSorted();
  return {
    progress: state.progress,
    sandboxes: sorted(state.snapshot.sandboxes()),
    servers: sorted(state.snapshot.servers()),
    incidents: sorted(state.incidents.values()),
    flaps: sorted(state.flaps.values()),
  };
}

export async function contentOf(store: Store) {
  const stored = (await store.targets.all()).find(({ target }) => target.key === research.key);
  if (!stored) throw new Error("the target is not stored");
  const snapshot = await store.targets.snapshotOf(stored.id);
  const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
  return contentOfTarget(watchTarget(stored, snapshot, options));
}

function sortedJson(value: object): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => a.localeCompare(b)))
      : each,
  );
}
