import { setImmediate } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Presence, Target } from "../core/model.ts";
import type { Lapse } from "../core/snapshot/packed-changes.ts";
import { isMeant } from "./change-filter.ts";
import { changePlaceText, readChangePlace } from "./change-place.ts";
import type { ChangePlace } from "./change-place.ts";
import { changesFromRow } from "./change-rows.ts";
import { createRowReading } from "./row-reading.ts";
import { createChangeRowReader } from "./read-change-rows.ts";
import type { ChangeSelection, RowQuery } from "./select-change-rows.ts";
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

/** What changed, read beside whatever is being written, a little at a time. */
export function createChangeHistory(reader: Kysely<Tables>, reading = createRowReading()) {
  const readRows = createChangeRowReader(reader, reading);

  /** Changes that are meant, those after a place. */
  async function* unpack(
    query: Omit<RowQuery, "begin">,
    begin: ChangePlace | null,
  ): AsyncGenerator<StoredChange, void> {
    const isWanted = isMeant(query.selection);
    const step = query.order === "time backwards" ? -1 : 1;
    let unpacked = 0;
    for await (const { row, atMs, targetId, target, ...packed } of readRows({ ...query, begin })) {
      const changes = reading.read("changes", row, () => changesFromRow(packed));
      if (!changes) continue;
      const isBegun = begin !== null && begin.row === row;
      const start = step < 0 ? changes.length - 1 : 0;
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
          cursor: changePlaceText({ atMs, targetId, row, index }),
        };
      }
    }
  }

  return {
    /** In the order of time, and for one moment in one order, either way. */
    between(query: ChangeQuery): AsyncIterable<StoredChange> {
      const { fromMs, toMs, direction, cursor, keptUpTo, ...selection } = query;
      const order = direction === "desc" ? "time backwards" : "time";
      const lastRow = keptUpTo === undefined ? Number.MAX_SAFE_INTEGER : placeOf(keptUpTo).row;
      const begin = cursor === undefined ? null : placeOf(cursor);
      return unpack({ selection, order, fromMs, toMs, lastRow }, begin);
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
      const { fromMs, toMs } = allTime;
      const query: Omit<RowQuery, "begin"> = {
        selection,
        order: "kept",
        fromMs: isUnknown ? given.atMs + 1 : fromMs,
        toMs,
        lastRow: newest.row,
      };
      const changes: StoredChange[] = [];
      for await (const change of unpack(query, begin)) {
        changes.push(change);
        if (changes.length === limit) return { changes, cursor: change.cursor };
      }
      return { changes, cursor: changePlaceText(newest) };
    },
  };
}

/** An index that no change of a row has. */
const behindAll = 999_999_999;

async function newestPlace(reader: Kysely<Tables>): Promise<ChangePlace> {
  const row = await reader
    .selectFrom("changes")
    .select(["id", "at_ms", "target_id", "change_count", "lapse_count"])
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  if (row) {
    const index = row.change_count + row.lapse_count - 1;
    return { atMs: row.at_ms, targetId: row.target_id, row: row.id, index };
  }
  // Those that were kept later are kept no longer, as the clock was behind when they came.
  const bundle = await reader
    .selectFrom("change_bundles")
    .select(["last_at_ms", "last_row"])
    .orderBy("last_row", "desc")
    .limit(1)
    .executeTakeFirst();
  return bundle
    ? { atMs: bundle.last_at_ms, targetId: 0, row: bundle.last_row, index: behindAll }
    : { atMs: 0, targetId: 0, row: 0, index: 0 };
}

/** @throws {RangeError} when it is no place */
function placeOf(cursor: string): ChangePlace {
  const place = readChangePlace(cursor);
  if (!place) throw new RangeError("a place among the changes must be one that they gave");
  return place;
}
