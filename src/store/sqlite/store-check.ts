import type { DatabaseSync } from "node:sqlite";
import { counted } from "../../fleet/text.ts";
import { isCurrent, read } from "./schema-check.ts";
import { unreadableText } from "../row-reading.ts";
import type { ListCursor } from "../sql-helpers.ts";
import { openStoreReadOnly, type Store } from "../store.ts";
import { openStored } from "./database.ts";
import { asStoreError } from "./sqlite-error.ts";

export interface StoreCheck {
  /** The schema's version. */
  readonly version: number;
  readonly bytes: number;
  /** What is wrong, in words. */
  readonly faults: readonly string[];
  /** Whether `findUnreadable` can read it: SQLite finds no fault, and its schema is that of this version. */
  readonly hasRows: boolean;
}

const timeoutMs = 10_000;
const mostFaults = 20;

/**
 * Checks the whole file of a store, and that its rows agree with each other. Reads only, also while a daemon runs on it.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read at all
 */
export function checkStore(path: string, { isBackup = false } = {}): StoreCheck {
  const { database, file, close } = openStored(path, { timeoutMs, isBackup });
  try {
    // So that all statements read the same moment.
    database.exec("begin");
    const version = number(database, "pragma user_version");
    const bytes = number(database, "pragma page_count") * number(database, "pragma page_size");
    const integrity = texts(database, `pragma integrity_check(${mostFaults})`);
    if (integrity.join() !== "ok") {
      return { version, bytes, faults: integrity.map((text) => `SQLite: ${text}`), hasRows: false };
    }
    return { version, bytes, faults: faultsIn(database), hasRows: isCurrent(database) };
  } catch (error) {
    throw asStoreError(error, file);
  } finally {
    close();
  }
}

function faultsIn(database: DatabaseSync): readonly string[] {
  const foreign = database.prepare(
    `select "table" as name, parent, count(*) as n from pragma_foreign_key_check group by 1, 2`,
  );
  const dangling = foreign
    .all()
    .map(
      ({ name, parent, n }) =>
        `${counted(Number(n), "row")} of ${String(name)} without the row of ${String(parent)}`,
    );
  // Older versions have other columns.
  if (!isCurrent(database)) return dangling;
  return [
    ...dangling,
    ...rules.flatMap(([what, rows]) => {
      const found = number(database, `select count(*) from (${rows})`);
      return found === 0 ? [] : [`${what}: ${found}`];
    }),
  ];
}

const atOnce = 1_000;

/**
 * Reads what the store keeps as the daemon reads it, also while it runs.
 *
 * @returns the rows that cannot be read, in words
 */
export async function findUnreadable(
  path: string,
  { isBackup = false } = {},
): Promise<readonly string[]> {
  const found: string[] = [];
  const store = openStoreReadOnly(path, {
    timeoutMs,
    isBackup,
    onUnreadableRow: (row) => void found.push(unreadableText(row)),
  });
  try {
    await readAll(store);
  } finally {
    await store.close();
  }
  return found;
}

async function readAll(store: Store): Promise<void> {
  const { targets, probes, drift, changes, incidents, notifications, silences } = store;
  const allTime = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER };
  for await (const _ of targets.snapshotsOf(await targets.all()));
  for (const { id } of await probes.all()) await probes.results(id, Number.MAX_SAFE_INTEGER);
  await drift.all();
  const query = { ...allTime, direction: "asc", observations: true } as const;
  for await (const _ of changes.ofSubjects(query));
  const ended = { ended: true, nowMs: 0 };
  await readPages(
    (before: ListCursor | null) => incidents.page({ limit: atOnce, before }),
    ({ incident }) => ({ atMs: incident.startedAtMs, id: incident.id }),
  );
  await readPages(
    (before: ListCursor | null) => silences.page({ ...ended, limit: atOnce, before }),
    ({ createdAtMs: atMs, id }) => ({ atMs, id }),
  );
  await readPages(
    (before: number | null) =>
      notifications.list({ limit: atOnce, ...(before !== null && { before }) }),
    ({ seq }) => seq,
  );
}

async function readPages<Item, Cursor>(
  readPage: (before: Cursor | null) => Promise<readonly Item[]>,
  cursorOf: (item: Item) => Cursor,
): Promise<void> {
  for (let before: Cursor | null = null; ;) {
    const last: Item | undefined = (await readPage(before)).at(-1);
    if (last === undefined) return;
    before = cursorOf(last);
  }
}

/** By what is wrong with them, the rows that are wrong. */
const rules: readonly (readonly [what: string, rows: string])[] = [
  [
    "open incidents of the same rule and subject",
    `select 1 from incidents where phase <> 'resolved'
     group by rule, subject, target_id, sandbox_id, server_id, server_name, region, key, probe, receiver
     having count(*) > 1`,
  ],
  [
    "incidents whose phase contradicts their times",
    `select 1 from incidents
     where phase not in ('pending', 'firing', 'resolved')
       or (phase = 'resolved') <> (resolved_at_ms is not null)
       or (phase = 'firing' and (notified_at_clock_ms is null) <> (fired_at_ms is null))`,
  ],
  [
    "outbox items without their incident",
    `select 1 from outbox_items where incident_id not in (select id from incidents)`,
  ],
  [
    "acknowledgements without their incident",
    `select 1 from acknowledgements where incident_id not in (select id from incidents)`,
  ],
  [
    "pending notifications without an outbox item",
    // Those of reports have none.
    `select 1 from notifications where state = 'pending'
       and iif(json_valid(body), json_extract(body, '$.type'), null) is not 'report'
       and not exists (select 1 from outbox_items where notification_seq = notifications.seq)`,
  ],
  [
    "notifications whose state contradicts their times",
    `select 1 from notifications
     where state not in ('pending', 'delivered', 'dead', 'discarded')
       or (state = 'pending') <> (settled_at_ms is null)`,
  ],
  [
    "notifications that wait for one that is not pending before them",
    `select 1 from notifications as later left join notifications as earlier
       on earlier.seq = later.waits_for and earlier.seq < later.seq
       and earlier.state = 'pending' and earlier.receiver = later.receiver
     where later.waits_for is not null and (earlier.seq is null or later.state <> 'pending')`,
  ],
  [
    "changes whose attributes are not stored",
    `select 1 from changes where value_set not in (select id from value_sets)
       or (previous_set is not null and previous_set not in (select id from value_sets))`,
  ],
  [
    "gaps that overlap",
    `select 1 from (
       select to_at_ms, from_at_ms,
         lead(from_at_ms) over (partition by target_id order by from_at_ms) as next_at_ms
       from gaps
     ) where to_at_ms < from_at_ms or to_at_ms > next_at_ms
       or (to_at_ms is null and next_at_ms is not null)`,
  ],
  [
    "rollups of a value without those of all servers",
    `select 1 from rollups as part where not exists (
       select 1 from rollups as whole where whole.counted = 'server'
         and whole.resolution = part.resolution
         and whole.start_at_ms = part.start_at_ms and whole.target_id = part.target_id
     )`,
  ],
  [
    "rollups with a negative time or count, or with more unobserved time than time",
    `select 1 from rollups where gap_ms < 0 or gap_ms > recorded_ms
       or min(idle_ms, occupied_ms, error_ms, unknown_ms, unobserved_ms, exhausted_ms) < 0
       or min(idle, occupied, error, unknown, missing) < 0`,
  ],
  [
    "values that are not JSON",
    ["rollups.dwells", "value_sets.tags", "region_flap_records.entered", "outbox_items.body"]
      .map((column) => {
        const [table = "", name = ""] = column.split(".");
        return `select 1 from ${table} where not json_valid(${name})`;
      })
      .join(" union all "),
  ],
];

function number(database: DatabaseSync, statement: string): number {
  return Number(read(database, statement));
}

function texts(database: DatabaseSync, statement: string): readonly string[] {
  return database
    .prepare(statement)
    .all()
    .map((row) => String(Object.values(row)[0]));
}
