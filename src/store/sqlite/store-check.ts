import type { DatabaseSync } from "node:sqlite";
import { counted } from "../../fleet/plural.ts";
import { presences, statuses } from "../../fleet/model.ts";
import { isCurrent } from "./schema-check.ts";
import { openStored } from "./database.ts";
import { asStoreError } from "./sqlite-error.ts";

export interface StoreCheck {
  /** The schema's version. */
  readonly version: number;
  readonly bytes: number;
  /** What is wrong, in words. */
  readonly faults: readonly string[];
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
    return { version, bytes, faults: faultsIn(database) };
  } catch (error) {
    throw asStoreError(error, file);
  } finally {
    close();
  }
}

function faultsIn(database: DatabaseSync): readonly string[] {
  const integrity = texts(database, `pragma integrity_check(${mostFaults})`);
  if (integrity.join() !== "ok") return integrity.map((text) => `SQLite: ${text}`);
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

const listed = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(", ");

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
    "unknown statuses",
    `select 1 from servers where status not in (${listed(statuses)})
     union all select 1 from sandboxes where status not in (${listed(statuses)})
       or stated_status not in (${listed(statuses)})
     union all select 1 from changes
       where from_status not in (${listed(presences)}) or to_status not in (${listed(presences)})`,
  ],
  [
    "values that are not JSON",
    [
      "rollups.dwells",
      "servers.tags",
      "value_sets.tags",
      "silences.match",
      "flap_records.entered",
      "region_flap_records.entered",
      "probe_flap_records.entered",
      "outbox_items.body",
      "notifications.body",
    ]
      .map((column) => {
        const [table = "", name = ""] = column.split(".");
        // A dead letter that cannot be read is an empty text.
        return `select 1 from ${table} where ${name} <> '' and not json_valid(${name})`;
      })
      .join(" union all "),
  ],
];

function number(database: DatabaseSync, statement: string): number {
  return Number(Object.values(database.prepare(statement).get() ?? {})[0]);
}

function texts(database: DatabaseSync, statement: string): readonly string[] {
  return database
    .prepare(statement)
    .all()
    .map((row) => String(Object.values(row)[0]));
}
