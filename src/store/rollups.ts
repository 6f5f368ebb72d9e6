import { sql } from "kysely";
import { countedKinds, resolutionMs } from "../fleet/buckets.ts";
import type { Bucket, Counted, NameAccount, RolledUp } from "../fleet/buckets.ts";
import { noDwells, type DwellHistogram } from "../fleet/dwell.ts";
import type { Counts } from "../fleet/fold.ts";
import { byStatus } from "../fleet/tallies.ts";
import { listIn, numberIn, type RowReading } from "./row-reading.ts";
import { deleteSome } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";
import { selectDue, type HistoryTarget } from "./targets.ts";

/** Separates what is counted from its value. */
const separator = " ";

export function keyOf(counted: Counted, value: string): string {
  return `${counted}${separator}${value}`;
}

export function readKey(key: string): { readonly counted: string; readonly value: string } {
  const end = key.indexOf(separator);
  return { counted: key.slice(0, end), value: key.slice(end + 1) };
}

export interface Found {
  readonly targetId: number;
  readonly bucket: Bucket;
}

type CountsByKey = ReadonlyMap<string, Counts>;

/** A row, but for its keys. */
export type RollupColumns = Omit<
  Tables["rollups"],
  "counted" | "resolution" | "start_at_ms" | "target_id" | "value_id" | "recorded_ms" | "gap_ms"
>;

export function accountToColumns(account: NameAccount, counts: Counts | null): RollupColumns {
  const { ms, unobservedMs, exhaustedMs, peaks, dwells } = account;
  return {
    idle_ms: ms.idle,
    occupied_ms: ms.occupied,
    error_ms: ms.error,
    unknown_ms: ms.unknown,
    unobserved_ms: unobservedMs,
    exhausted_ms: exhaustedMs,
    occupied_peak: peaks?.occupied ?? null,
    peak: peaks?.servers ?? null,
    idle: counts?.idle ?? 0,
    occupied: counts?.occupied ?? 0,
    error: counts?.error ?? 0,
    unknown: counts?.unknown ?? 0,
    missing: counts?.missing ?? 0,
    dwells: dwells === noDwells ? null : JSON.stringify([...dwells.counts, dwells.sumMs]),
  };
}

function accountFromColumns(row: RollupColumns): NameAccount {
  const { occupied_peak: occupied, peak: servers } = row;
  return {
    ms: byStatus((status) => row[`${status}_ms`]),
    unobservedMs: row.unobserved_ms,
    exhaustedMs: row.exhausted_ms,
    peaks: occupied === null || servers === null ? null : { occupied, servers },
    dwells: row.dwells === null ? noDwells : dwellsIn(row.dwells),
  };
}

function dwellsIn(written: string): DwellHistogram {
  const numbers = listIn(JSON.parse(written), numberIn);
  return { counts: numbers.slice(0, -1), sumMs: numbers.at(-1) ?? 0 };
}

function countsFromColumns(row: RollupColumns): Counts {
  return { ...byStatus((status) => row[status]), missing: row.missing };
}

interface RollupQuery {
  readonly resolution: RolledUp;
  readonly kinds: readonly Counted[];
  /** The end of the last one that is rolled up. */
  readonly endOf: (target: HistoryTarget) => number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Reads hours or days that are rolled up. */
export async function readRollups(
  reader: Db,
  targets: readonly HistoryTarget[],
  { resolution, kinds, endOf, fromMs, toMs }: RollupQuery,
  reading: RowReading,
): Promise<readonly Found[]> {
  const ends = new Map(targets.map((target) => [target.id, endOf(target)]));
  const ids = [...ends.keys()].filter((id) => (ends.get(id) ?? 0) > fromMs);
  if (ids.length === 0) return [];
  const rows = await selectRows(reader, ["server", ...kinds])
    .where("resolution", "=", resolution)
    .where("start_at_ms", ">=", fromMs)
    .where("start_at_ms", "<", toMs)
    .where("target_id", "in", ids)
    .execute();
  const known = rows.filter((row) => row.start_at_ms < (ends.get(row.target_id) ?? 0));
  const cells = Map.groupBy(known, (row) => `${row.start_at_ms} ${row.target_id}`);
  return Array.from(cells.values(), (cell) => {
    const [{ target_id, start_at_ms, recorded_ms, gap_ms } = noCell] = cell;
    const names = new Map<string, NameAccount>();
    for (const row of cell) {
      if (!kinds.includes(row.counted)) continue;
      const account = reading.read("rollups", row, accountFromColumns);
      if (account) names.set(keyOf(row.counted, row.value), account);
    }
    const bucket = { startMs: start_at_ms, recordedMs: recorded_ms, unobservedMs: gap_ms, names };
    return { targetId: target_id, bucket };
  });
}

const noCell = { target_id: 0, start_at_ms: 0, recorded_ms: 0, gap_ms: 0 };

function selectRows(reader: Db, kinds: readonly Counted[]) {
  return reader
    .selectFrom("rollups")
    .innerJoin("counted_values", "counted_values.id", "rollups.value_id")
    .selectAll("rollups")
    .select("counted_values.value")
    .where("counted", "in", [...new Set(kinds)]);
}

/**
 * How many there were of each value at the end of an hour that is rolled up, or before the first one.
 *
 * @param targets each with the end of the hour
 */
export async function readCounts(
  reader: Db,
  targets: readonly { readonly id: number; readonly atMs: number }[],
  kinds: readonly Counted[],
): Promise<ReadonlyMap<number, CountsByKey>> {
  const counts = new Map<number, Map<string, Counts>>();
  for (const [atMs, some] of Map.groupBy(targets, (each) => each.atMs)) {
    const ids = some.map(({ id }) => id);
    const rows = await selectRows(reader, kinds)
      .where("resolution", "=", "1h")
      .where("start_at_ms", "=", atMs - resolutionMs["1h"])
      .where("target_id", "in", ids)
      .execute();
    for (const row of rows) {
      const known = counts.get(row.target_id) ?? new Map<string, Counts>();
      counts.set(row.target_id, known);
      known.set(keyOf(row.counted, row.value), countsFromColumns(row));
    }
  }
  return counts;
}

/**
 * Deletes those that ended before. What follows is counted from the last hour: the last two days of hours stay, and all
 * while any are to be rolled up, as after a long stop.
 *
 * @returns whether there may be more
 */
export async function pruneRollups(
  kysely: Db,
  resolution: RolledUp,
  beforeMs: number,
  nowMs: number,
): Promise<boolean> {
  const leastMs = resolution === "1h" ? 2 * resolutionMs["1d"] : 0;
  const endMs = Math.min(beforeMs, nowMs - leastMs);
  if (await selectDue(kysely).clearOrderBy().limit(1).executeTakeFirst()) return false;
  await noteDeleted(kysely, resolution, endMs);
  for (const counted of countedKinds) {
    const isOld = sql`counted = ${counted} and resolution = ${resolution}
      and start_at_ms <= ${endMs - resolutionMs[resolution]} order by start_at_ms`;
    const columns = ["counted", "resolution", "start_at_ms", "target_id", "value_id"];
    if (await deleteSome(kysely, "rollups", columns, isOld)) return true;
  }
  return false;
}

/** From then on all of it is kept. Nothing is deleted where nothing was recorded before. */
export async function noteDeleted(
  db: Db,
  what: "changes" | RolledUp,
  beforeMs: number,
): Promise<void> {
  const older = db.selectFrom("targets").select("id").where("recorded_from_ms", "<", beforeMs);
  if (!(await older.limit(1).executeTakeFirst())) return;
  await db
    .insertInto("deleted_history")
    .values({ what, before_ms: beforeMs })
    .onConflict((conflict) =>
      conflict
        .column("what")
        .doUpdateSet({ before_ms: beforeMs })
        .where("deleted_history.before_ms", "<", beforeMs),
    )
    .execute();
}

/** From when on changes and rollups are kept. UTC milliseconds; -Infinity: from the beginning. */
export async function readKept(reader: Db) {
  const rows = await reader.selectFrom("deleted_history").selectAll().execute();
  const beforeMs = (what: string): number =>
    rows.find((row) => row.what === what)?.before_ms ?? -Infinity;
  const from = (resolution: RolledUp, ms: number): number =>
    Math.ceil(ms / resolutionMs[resolution]) * resolutionMs[resolution];
  // What is derived from changes continues from the counts of a whole hour.
  const derivedFromMs = from("1h", Math.max(beforeMs("changes"), beforeMs("1h")));
  const quartersFromMs = from("15m", beforeMs("15m"));
  return {
    changesKeptFromMs: beforeMs("changes"),
    quartersFromMs,
    keptFrom: {
      "5m": derivedFromMs,
      "15m": Math.min(derivedFromMs, quartersFromMs),
      "1h": from("1h", beforeMs("1h")),
      "1d": from("1d", beforeMs("1d")),
    },
  };
}
