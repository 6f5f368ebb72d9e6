import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import type { Presence, Target } from "../core/model.ts";
import type { Lapse } from "../core/snapshot/packed-changes.ts";
import { isMeant, mayHold } from "./change-filter.ts";
import type { ChangeFilter } from "./change-filter.ts";
import { changePlaceText, readChangePlace } from "./change-place.ts";
import type { ChangePlace } from "./change-place.ts";
import { changesFromRow } from "./change-rows.ts";
import type { Tables } from "./tables.ts";

/** A change as it was kept. */
export interface StoredChange {
  /** UTC milliseconds. */
  readonly atMs: number;
  readonly target: Target;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
  /** For how long it was in `from`, whole milliseconds; null where that is not known. */
  readonly stayMs: number | null;
  /** Null: it is a change. */
  readonly lapse: Lapse | null;
  /** Its place. */
  readonly cursor: string;
}

export interface ChangeSelection extends ChangeFilter {
  /** Empty or left out: all. */
  readonly region?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
}

export interface ChangeQuery extends ChangeSelection {
  /** Inclusive. UTC milliseconds. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly direction: "asc" | "desc";
  /** Only what follows this place in that direction. */
  readonly cursor?: string | undefined;
  /** Only what was kept up to this place: what comes later is told by `after`. */
  readonly keptUpTo?: string | undefined;
}

/** What was kept after a place. */
export interface LaterChanges {
  /** In the order in which they were kept. */
  readonly changes: readonly StoredChange[];
  /** Where to go on: all before it was looked at. */
  readonly cursor: string;
}

/** From the first change that was kept to the last. */
export const allTime = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER } as const;

/** So many changes are unpacked before something else has its turn. */
const changesAtOnce = 2_048;
/** Rows are read in growing numbers as long as they hold little. */
const rowsAtOnce = { least: 16, most: 1_024 };
const bytesAtOnce = 512 * 1_024;

/** What changed, read beside whatever is being written, a little at a time. */
export function createChangeHistory(reader: Kysely<Tables>) {
  const selectRows = (selection: ChangeSelection) => {
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
      ]);
    const { region = [], key = [], lapses = false } = selection;
    if (region.length > 0) select = select.where("targets.region", "in", region);
    if (key.length > 0) select = select.where("targets.key", "in", key);
    return lapses ? select : select.where("changes.change_count", ">", 0);
  };
  type Select = ReturnType<typeof selectRows>;
  type Row = Awaited<ReturnType<Select["execute"]>>[number];

  /** Rows in an order; `after` gives those that follow one of them. */
  async function* readRows(first: Select, after: (row: Row) => Select): AsyncGenerator<Row, void> {
    let limit = rowsAtOnce.least;
    for (let select = first; ;) {
      const rows = await select.limit(limit).execute();
      yield* rows;
      const last = rows.at(-1);
      if (!last || rows.length < limit) return;
      const bytes = rows.reduce((sum, { words }) => sum + (words?.length ?? 0), 0);
      limit = Math.max(
        rowsAtOnce.least,
        Math.min(bytes > bytesAtOnce ? limit / 4 : limit * 2, rowsAtOnce.most),
      );
      select = after(last);
      await setImmediate();
    }
  }

  /** Those of rows that are meant. */
  async function* unpack(
    rows: AsyncIterable<Row>,
    selection: ChangeSelection,
    { isBackwards, begin }: { readonly isBackwards: boolean; readonly begin: ChangePlace | null },
  ): AsyncGenerator<StoredChange, void> {
    const isWanted = isMeant(selection);
    let unpacked = 0;
    for await (const { words, ...row } of rows) {
      if (words === null) continue;
      const changes = changesFromRow({ texts: row.texts, words });
      const { atMs, targetId, region, key } = row;
      const target = { region, key };
      const isBegun = begin !== null && begin.row === row.row;
      const step = isBackwards ? -1 : 1;
      const start = isBackwards ? changes.length - 1 : 0;
      for (
        let index = isBegun ? begin.index + step : start;
        index >= 0 && index < changes.length;
        index += step
      ) {
        if (++unpacked % changesAtOnce === 0) await setImmediate();
        if (!isWanted(changes, index)) continue;
        yield {
          atMs,
          target,
          sandboxId: changes.sandboxId(index),
          serverId: changes.serverId(index),
          serverName: changes.serverName(index),
          from: changes.from(index),
          to: changes.to(index),
          stayMs: changes.stayMs(index),
          lapse: changes.lapse(index),
          cursor: changePlaceText({ atMs, targetId, row: row.row, index }),
        };
      }
    }
  }

  return {
    /** In the order of time, and for one moment in one order, either way. */
    between(query: ChangeQuery): AsyncIterable<StoredChange> {
      const { fromMs, toMs, direction, cursor, keptUpTo, ...selection } = query;
      const isBackwards = direction === "desc";
      const begin = cursor === undefined ? null : placeOf(cursor);
      const lastRow = keptUpTo === undefined ? Number.MAX_SAFE_INTEGER : placeOf(keptUpTo).row;
      const selectAll = (range = { fromMs, toMs }): Select =>
        selectRows(selection)
          .where("changes.id", "<=", lastRow)
          .where("changes.at_ms", ">=", range.fromMs)
          .where("changes.at_ms", "<", range.toMs)
          .orderBy("changes.at_ms", direction)
          .orderBy("changes.target_id", direction)
          .orderBy("changes.id", direction);
      const selectFrom = (
        { atMs, targetId, row }: Omit<ChangePlace, "index">,
        isInclusive: boolean,
      ): Select => {
        const operator = sql.raw(`${isBackwards ? "<" : ">"}${isInclusive ? "=" : ""}`);
        // The index is entered at the place only where that bounds the time itself.
        const range = isBackwards
          ? { fromMs, toMs: Math.min(toMs, atMs + 1) }
          : { fromMs: Math.max(fromMs, atMs), toMs };
        return selectAll(range).where(
          sql<boolean>`(changes.at_ms, changes.target_id, changes.id) ${operator} (${atMs}, ${targetId}, ${row})`,
        );
      };
      const rows = readRows(begin ? selectFrom(begin, true) : selectAll(), (row) =>
        selectFrom(row, false),
      );
      return unpack(rows, selection, { isBackwards, begin });
    },

    /** The place of what was kept last: nothing was kept after it yet. */
    async newest(): Promise<string> {
      return changePlaceText(await newestPlace(reader));
    },

    /** What was kept after a place, whatever the clock said. */
    async after(cursor: string, selection: ChangeSelection, limit: number): Promise<LaterChanges> {
      const newest = await newestPlace(reader);
      const given = placeOf(cursor);
      // Of a store that was begun anew: there is no place like it.
      const isUnknown = given.row > newest.row;
      const begin = isUnknown ? { ...given, row: 0, index: 0 } : given;
      const selectAll = (fromRow: number): Select => {
        const select = selectRows(selection)
          .where("changes.id", ">=", fromRow)
          .where("changes.id", "<=", newest.row)
          .orderBy("changes.id");
        return isUnknown ? select.where("changes.at_ms", ">", given.atMs) : select;
      };
      const rows = readRows(selectAll(begin.row), ({ row }) => selectAll(row + 1));
      const changes: StoredChange[] = [];
      for await (const change of unpack(rows, selection, { isBackwards: false, begin })) {
        changes.push(change);
        if (changes.length === limit) return { changes, cursor: change.cursor };
      }
      return { changes, cursor: changePlaceText(newest) };
    },
  };
}

async function newestPlace(reader: Kysely<Tables>): Promise<ChangePlace> {
  const row = await reader
    .selectFrom("changes")
    .select(["id", "at_ms", "target_id", "change_count", "lapse_count"])
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row
    ? {
        atMs: row.at_ms,
        targetId: row.target_id,
        row: row.id,
        index: row.change_count + row.lapse_count - 1,
      }
    : { atMs: 0, targetId: 0, row: 0, index: 0 };
}

/** @throws {RangeError} when it is no place */
function placeOf(cursor: string): ChangePlace {
  const place = readChangePlace(cursor);
  if (!place) throw new RangeError("a place among the changes must be one that they gave");
  return place;
}
