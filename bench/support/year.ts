import { DatabaseSync } from "node:sqlite";
import { resolutionMs } from "../../src/fleet/buckets.ts";
import { rolledUp, type RolledUp } from "../../src/fleet/buckets.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";

const dayMs = resolutionMs["1d"];
const tables = ["rollups"];

export interface YearWanted {
  /** A store with a day, of this and of as many targets as it has. */
  readonly dayFile: string;
  readonly dayMs: number;
  /** How many times the day's targets there are. */
  readonly copies: number;
  readonly endMs: number;
  readonly days: Readonly<Record<RolledUp, number>>;
}

/**
 * Writes to a new store as many days as are kept of hours and days, each of them like the one, in the order in which they
 * would have been rolled up: that decides how full the pages of an index become.
 */
export async function writeYear(file: string, wanted: YearWanted): Promise<void> {
  await openDatabase(file, { isTemporary: true }).close();
  const database = new DatabaseSync(file);
  database.exec(`pragma synchronous = off; attach '${wanted.dayFile}' as sample; begin`);
  const targets = countOf(database, "sample.targets");
  const copies = Array.from({ length: wanted.copies }, (_, index) => `(${index})`).join(", ");
  database.exec(`create temp table copies (copy integer primary key); insert into copies values ${copies};
    insert into counted_values select * from sample.counted_values`);
  database.exec(
    copyOf(database, "targets", targets, "where true", {
      region: "'region-' || copy",
      recorded_from_ms: String(wanted.endMs - wanted.days["1d"] * dayMs),
      recorded_to_ms: String(wanted.endMs),
      rolled_up_to_ms: String(wanted.endMs),
    }),
  );
  const statements = tables.map((table) =>
    database.prepare(
      copyOf(database, table, targets, "where resolution = :resolution and start_at_ms = :at", {
        start_at_ms: "start_at_ms + :shift",
      }),
    ),
  );
  const most = Math.max(...Object.values(wanted.days));
  for (let day = most; day >= 1; day -= 1) {
    const shift = wanted.endMs - day * dayMs - wanted.dayMs;
    for (let at = 0; at < dayMs; at += resolutionMs["1h"]) {
      for (const resolution of rolledUp) {
        if (at % resolutionMs[resolution] !== 0 || day > wanted.days[resolution]) continue;
        const bound = { resolution, at: wanted.dayMs + at, shift };
        for (const statement of statements) statement.run(bound);
      }
    }
  }
  database.exec("commit");
  database.close();
}

/** A statement that copies rows of the day, of each target to as many. */
function copyOf(
  database: DatabaseSync,
  table: string,
  targets: number,
  where: string,
  others: Readonly<Record<string, string>>,
): string {
  const target = `copy * ${targets} + `;
  const expressions: Readonly<Record<string, string>> = {
    ...others,
    target_id: `${target}target_id`,
    ...(table === "targets" && { id: `${target}id` }),
  };
  const columns = database
    .prepare(`select name from pragma_table_info('${table}')`)
    .all()
    .map(({ name }) => String(name));
  const selected = columns.map((column) => expressions[column] ?? column).join(", ");
  return `insert into main.${table} (${columns.join(", ")})
    select ${selected} from temp.copies cross join sample.${table} ${where} order by 1, 2, 3, 4, 5`;
}

/** What tables take with their indexes. */
export function bytesOf(file: string, wanted: readonly string[]): number {
  return withDatabase(file, (database) => {
    const row = database
      .prepare(
        `select sum(pgsize) as bytes from dbstat left join sqlite_schema on sqlite_schema.name = dbstat.name
         where coalesce(sqlite_schema.tbl_name, dbstat.name) in (${wanted.map((table) => `'${table}'`).join(", ")})`,
      )
      .get();
    return Number(row?.["bytes"]);
  });
}

export function rowsOf(file: string, table: string): number {
  return withDatabase(file, (database) => countOf(database, table));
}

export const bucketBytes = (file: string): number => bytesOf(file, tables);

function countOf(database: DatabaseSync, table: string): number {
  return Number(database.prepare(`select count(*) as count from ${table}`).get()?.["count"]);
}

function withDatabase<T>(file: string, read: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
}
