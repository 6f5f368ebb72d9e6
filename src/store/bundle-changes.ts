import { setImmediate } from "node:timers/promises";
import { sql, type Insertable, type Kysely } from "kysely";
import { freeBuffer } from "../platform/free-buffer.ts";
import { BundlePacker } from "./change-bundle.ts";
import type { PlainChangeRow } from "./change-bundle.ts";
import { fewestRows, nextLimit } from "./select-change-rows.ts";
import type { ChangeBundlesTable, Tables } from "./tables.ts";

export interface BundleSizes {
  /** About so many changes are in one: with more, what servers have in common is found more often. */
  readonly bundled: number;
  /** So many of the latest stay as they were written: they are asked for most. */
  readonly loose: number;
}

export const usualBundles: BundleSizes = { bundled: 40_000, loose: 80_000 };

/** What one bundle holds goes together when it is kept no longer, so it spans no more. */
const longestMs = 24 * 60 * 60 * 1_000;

const rowsAtOnce = { counted: 5_000, cleared: 200 };

/**
 * Bundles the oldest changes, so that they take a fraction of the room; a little with each call. A
 * bundle is there before its rows go: whoever reads takes what is in bundles from there.
 *
 * @returns does a step, and gives whether there may be more to do
 */
export function createChangeBundling(
  kysely: Kysely<Tables>,
  { bundled, loose }: BundleSizes = usualBundles,
): () => Promise<boolean> {
  /** Loose changes, those of the rows up to this one. */
  let counted = { row: 0, changes: 0 };

  const countOn = async (): Promise<boolean> => {
    const { rows } = await sql<{ row: number | null; changes: number; many: number }>`
      select max(id) as row, coalesce(sum(changes), 0) as changes, count(*) as many
      from (
        select id, change_count + lapse_count as changes from changes
        where id > ${counted.row} order by id limit ${rowsAtOnce.counted}
      )
    `.execute(kysely);
    const [{ row, changes, many } = { row: null, changes: 0, many: 0 }] = rows;
    counted = { row: row ?? counted.row, changes: counted.changes + changes };
    return many === rowsAtOnce.counted;
  };

  return async () => {
    const last = await lastBundledRow(kysely);
    if (await clear(kysely, last)) return true;
    if (counted.row < last) counted = { row: last, changes: 0 };
    const mayCountMore = await countOn();
    if (counted.changes < loose + bundled) return mayCountMore;
    const made = await makeBundle(readOldest(kysely, last), bundled);
    if (!made || (made.isAll && made.changes < loose)) {
      // Some of those that were counted are kept no longer.
      counted = { row: last, changes: 0 };
      return false;
    }
    await kysely.insertInto("change_bundles").values(made.bundle).execute();
    counted = { ...counted, changes: counted.changes - made.changes };
    return true;
  };
}

/** Rows up to this one are in bundles, whether they are still in the table of changes or not. */
export async function lastBundledRow(kysely: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ last: number | null }>`
    select max(last_row) as last from change_bundles
  `.execute(kysely);
  return rows[0]?.last ?? 0;
}

/** Removes some of the rows that are in bundles. */
async function clear(kysely: Kysely<Tables>, last: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from changes where id in (
      select id from changes where id <= ${last} order by id limit ${rowsAtOnce.cleared}
    )
  `.execute(kysely);
  return numAffectedRows > 0n;
}

interface CountedRow extends PlainChangeRow {
  readonly changes: number;
}

interface MadeBundle {
  readonly bundle: Insertable<ChangeBundlesTable>;
  readonly changes: number;
  /** Whether there were no more. */
  readonly isAll: boolean;
}

/** The first rows, as many as are to be in one bundle. Null: there are none. */
async function makeBundle(
  rows: AsyncIterable<CountedRow>,
  most: number,
): Promise<MadeBundle | null> {
  const packer = new BundlePacker();
  let first: CountedRow | null = null;
  let isAll = true;
  let [lastRow, firstMs, lastMs, changes] = [0, Infinity, -Infinity, 0];
  for await (const row of rows) {
    first ??= row;
    isAll = changes < most && Math.abs(row.atMs - first.atMs) <= longestMs;
    if (!isAll) break;
    packer.add(row);
    freeBuffer(row.words);
    lastRow = row.row;
    firstMs = Math.min(firstMs, row.atMs);
    lastMs = Math.max(lastMs, row.atMs);
    changes += row.changes;
  }
  if (!first) return null;
  const bundle = {
    last_row: lastRow,
    first_row: first.row,
    first_at_ms: firstMs,
    last_at_ms: lastMs,
    body: await packer.finish(),
  };
  return { bundle, changes, isAll };
}

/** Rows after one. The row that was kept last is not among them: it tells where the changes end. */
async function* readOldest(
  kysely: Kysely<Tables>,
  after: number,
): AsyncGenerator<CountedRow, void> {
  let limit = fewestRows;
  for (let last = after; ;) {
    const rows = await kysely
      .selectFrom("changes")
      .select(["id as row", "at_ms as atMs", "target_id as targetId", "texts", "words"])
      .select(sql<number>`change_count + lapse_count`.as("changes"))
      .where("id", ">", last)
      .where("id", "<", (latest) =>
        latest.selectFrom("changes").select(({ fn }) => fn.max("id").as("id")),
      )
      .orderBy("id")
      .limit(limit)
      .execute();
    yield* rows;
    if (rows.length < limit) return;
    limit = nextLimit(limit, rows);
    last = rows.at(-1)?.row ?? last;
    await setImmediate();
  }
}
