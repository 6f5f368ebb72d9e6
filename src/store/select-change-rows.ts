import { sql } from "kysely";
import type { Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import { mayHold } from "./change-filter.ts";
import type { ChangeFilter } from "./change-filter.ts";
import type { ChangePlace } from "./change-place.ts";
import type { Tables } from "./tables.ts";

export interface ChangeSelection extends ChangeFilter {
  /** Empty or left out: all. */
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
}

/** By time, and for one moment in one order; or as they were kept, whatever the clock said. */
export type RowOrder = "time" | "time backwards" | "kept";

export interface RowQuery {
  readonly selection: ChangeSelection;
  readonly order: RowOrder;
  /** UTC milliseconds: inclusive, exclusive. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Rows up to this one. */
  readonly lastRow: number;
  /** Where to begin, this row included; null: where they begin. */
  readonly begin: RowPlace | null;
}

export type RowPlace = Pick<ChangePlace, "atMs" | "targetId" | "row">;

/** Rows are read in growing numbers as long as they hold little: one can have thousands of changes. */
export const fewestRows = 16;

const mostRows = 1_024;
const bytesAtOnce = 512 * 1_024;

/** How many rows to read after some that were read with one statement. */
export function nextLimit(
  limit: number,
  rows: readonly { readonly texts: string; readonly words: Uint8Array | null }[],
): number {
  const bytes = rows.reduce(
    (sum, { texts, words }) => sum + texts.length + (words?.length ?? 0),
    0,
  );
  const next = bytes > bytesAtOnce ? Math.floor(limit / 4) : limit * 2;
  return Math.max(fewestRows, Math.min(next, mostRows));
}

/** What is known of a bundle before it is opened. */
export interface Bundle {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Loose rows from a place on; those in which nothing is meant come without words. */
export function selectLoose(
  reader: Kysely<Tables>,
  { selection, order, lastRow, fromMs, toMs }: RowQuery,
  place: RowPlace | null,
  isInclusive: boolean,
) {
  const { region = [], key = [], lapses = false } = selection;
  let select = reader
    .selectFrom("changes")
    .innerJoin("targets", "targets.id", "changes.target_id")
    .select([
      "changes.id as row",
      "changes.at_ms as atMs",
      "changes.target_id as targetId",
      "targets.region",
      "targets.key",
      "changes.texts",
      sql<Uint8Array | null>`iif(${mayHold(selection)}, changes.words, null)`.as("words"),
    ])
    .where("changes.id", "<=", lastRow);
  if (region.length > 0) select = select.where("targets.region", "in", region);
  if (key.length > 0) select = select.where("targets.key", "in", key);
  if (!lapses) select = select.where("changes.change_count", ">", 0);
  if (order === "kept") {
    if (place) select = select.where("changes.id", isInclusive ? ">=" : ">", place.row);
    // By its number: in the order of their times all would have to be sorted first.
    return select.where(sql<boolean>`+changes.at_ms >= ${fromMs}`).orderBy("changes.id");
  }
  const isBackwards = order === "time backwards";
  // The index is entered at the place only where that bounds the time itself.
  const range = timesFrom(place, { fromMs, toMs, order });
  const direction = isBackwards ? "desc" : "asc";
  select = select
    .where("changes.at_ms", ">=", range.fromMs)
    .where("changes.at_ms", "<", range.toMs)
    .orderBy("changes.at_ms", direction)
    .orderBy("changes.target_id", direction)
    .orderBy("changes.id", direction);
  if (!place) return select;
  const operator = sql.raw(`${isBackwards ? "<" : ">"}${isInclusive ? "=" : ""}`);
  return select.where(
    sql<boolean>`(changes.at_ms, changes.target_id, changes.id) ${operator} (${place.atMs}, ${place.targetId}, ${place.row})`,
  );
}

/** Bundles in the order in which they begin to matter. */
export async function selectBundles(
  reader: Kysely<Tables>,
  query: RowQuery,
  lastBundled: number,
): Promise<readonly Bundle[]> {
  const { order, begin, lastRow } = query;
  const { fromMs, toMs } = timesFrom(begin, query);
  const select = reader
    .selectFrom("change_bundles")
    .select([
      "first_row as firstRow",
      "last_row as lastRow",
      "first_at_ms as firstMs",
      "last_at_ms as lastMs",
    ])
    .where("last_row", "<=", lastBundled)
    .where("first_row", "<=", lastRow)
    .where("last_at_ms", ">=", fromMs)
    .where("first_at_ms", "<", toMs);
  switch (order) {
    case "time":
      return select.orderBy("first_at_ms").execute();
    case "time backwards":
      return select.orderBy("last_at_ms", "desc").execute();
    case "kept":
      return select
        .where("last_row", ">=", begin?.row ?? 0)
        .orderBy("last_row")
        .execute();
    default:
      return order satisfies never;
  }
}

/** Nothing before a place is asked for. */
function timesFrom(
  place: RowPlace | null,
  { fromMs, toMs, order }: Pick<RowQuery, "fromMs" | "toMs" | "order">,
): Pick<RowQuery, "fromMs" | "toMs"> {
  if (!place || order === "kept") return { fromMs, toMs };
  return order === "time"
    ? { fromMs: Math.max(fromMs, place.atMs), toMs }
    : { fromMs, toMs: Math.min(toMs, place.atMs + 1) };
}

/** Those that are selected, by their numbers. */
export async function readTargets(
  reader: Kysely<Tables>,
  { region = [], key = [] }: ChangeSelection,
): Promise<ReadonlyMap<number, Target>> {
  let select = reader.selectFrom("targets").select(["id", "region", "key"]);
  if (region.length > 0) select = select.where("region", "in", region);
  if (key.length > 0) select = select.where("key", "in", key);
  const rows = await select.execute();
  return new Map(rows.map((row) => [row.id, { region: row.region, key: row.key }]));
}
