import { sql, type Kysely, type RawBuilder } from "kysely";
import { watchTarget, type WatchedTarget } from "../../../src/polling/watched-target.ts";
import { createStore, type Store } from "../../../src/store/store.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { research, startMs } from "../../support/fleet.ts";
import { addTarget } from "../../support/add-target.ts";
import type { Engine } from "./engines.ts";

export interface PollStore extends AsyncDisposable {
  readonly kysely: Kysely<Tables>;
  readonly store: Store;
  /** What a process that starts finds: nothing in memory is left. */
  readonly restart: () => Store;
  readonly targetId: number;
  readonly rows: (table: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly sql: (statement: RawBuilder<unknown>) => Promise<void>;
  /** Every row of every table. */
  readonly everything: () => Promise<unknown>;
  /** How many rows were written, changed or removed meanwhile. On SQLite only, like the next. */
  readonly written: (during: () => Promise<unknown>) => Promise<number>;
  /** Leaves N pages more than it has, as a disk that is nearly full does. */
  readonly limitPages: (more: number) => Promise<void>;
}

const tables = [
  "commit_sequence",
  "targets",
  "sandboxes",
  "servers",
  "changes",
  "value_sets",
  "counted_values",
  "rollups",
  "deleted_history",
  "gaps",
  "incidents",
  "incident_receivers",
  "flap_records",
  "outbox_items",
];

export async function openPollStore(engine: Engine): Promise<PollStore> {
  const { kysely, close } = await engine.open();
  const restart = (): Store => createStore(kysely, close);
  const store = restart();
  const { id: targetId } = await addTarget(store, research);
  const rows: PollStore["rows"] = async (table) =>
    (await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(kysely)).rows;
  const totalChanges = async (): Promise<number> => {
    const { rows: found } = await sql<{ n: number }>`select total_changes() as n`.execute(kysely);
    return found[0]?.n ?? Number.NaN;
  };
  return {
    kysely,
    store,
    restart,
    targetId,
    rows,
    [Symbol.asyncDispose]: close,
    async sql(statement) {
      await statement.execute(kysely);
    },
    everything: () => Promise.all(tables.map(rows)),
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
    sandboxes: sorted(
      state.snapshot.sandboxes.map(({ servers, ...sandbox }) => {
        return { ...sandbox, servers: servers.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
      }),
    ),
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
