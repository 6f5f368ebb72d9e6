import {
  accountOfNone,
  addBucket,
  bucketStart,
  countedKinds,
  emptyBucket,
  resolutionMs,
} from "../fleet/buckets.ts";
import type { Bucket, Counted, RolledUp } from "../fleet/buckets.ts";
import { batches } from "../lib/iterables.ts";
import { oneOf, type RowReading } from "./row-reading.ts";
import { foldTargets, type FoldedCell } from "./fold-changes.ts";
import { accountToColumns, keyOf, readRollups } from "./rollups.ts";
import { noteDeleted, readCounts, readKey } from "./rollups.ts";
import { findOrAdd, prepareUpsert } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";
import { historyTargets, selectDue, type HistoryTarget } from "./targets.ts";

const hourMs = resolutionMs["1h"];

export interface RollUpOptions {
  /** Also stores quarters of an hour, of which the hours of some zones are made. */
  readonly isByQuarter: boolean;
}

/** So few that a poll that waits for the store waits briefly. */
const targetsAtOnce = 50;

const upsertRollups = prepareUpsert("rollups", [
  "counted",
  "resolution",
  "start_at_ms",
  "target_id",
  "value_id",
]);

/**
 * Rolls up an hour of some targets, and the day that ends with it, in one transaction: what is rolled up is whole. An hour
 * can be rolled up when the clock of its target, which never goes back, has passed its end.
 *
 * @returns whether there may be more
 */
export function rollUp(
  kysely: Db,
  reading: RowReading,
  { isByQuarter }: RollUpOptions,
): Promise<boolean> {
  return kysely.transaction().execute(async (trx) => {
    const due = historyTargets(await selectDue(trx).limit(targetsAtOnce).execute());
    const fromMs = due[0]?.rolledUpToMs;
    if (fromMs === undefined) return false;
    const targets = due.filter(({ rolledUpToMs }) => rolledUpToMs === fromMs);
    const endMs = fromMs + hourMs;
    const starts = targets.map(({ id }) => ({ id, atMs: fromMs }));
    const counts = await readCounts(trx, starts, countedKinds);
    const folded = targets.map(({ id, recorded }) => {
      const startMs = Math.max(fromMs, recorded.fromMs);
      return { id, recorded, fromMs: startMs, counts: counts.get(id) ?? new Map() };
    });
    const cellMs = isByQuarter ? resolutionMs["15m"] : hourMs;
    const query = { kinds: countedKinds, cellMs, toMs: endMs };
    const cells: FoldedCell[] = [];
    const hours = new Map<number, FoldedCell>();
    for await (const some of foldTargets(trx, folded, query, reading)) {
      for (const cell of some) {
        const { bucket = emptyBucket(fromMs) } = hours.get(cell.targetId) ?? {};
        hours.set(cell.targetId, { ...cell, bucket: addBucket(bucket, cell.bucket) });
      }
      cells.push(...some);
    }
    const all = [...hours.values()];
    await writeRollups(trx, "1h", all);
    if (bucketStart("1d", endMs) === endMs) await rollUpDay(trx, targets, all, reading);
    if (isByQuarter) await writeRollups(trx, "15m", cells);
    else await noteDeleted(trx, "15m", endMs);
    const ids = targets.map(({ id }) => id);
    await trx
      .updateTable("targets")
      .set({ rolled_up_to_ms: endMs })
      .where("id", "in", ids)
      .execute();
    return true;
  });
}

/** @param last the cells of its last hour */
async function rollUpDay(
  trx: Db,
  targets: readonly HistoryTarget[],
  last: readonly FoldedCell[],
  reading: RowReading,
): Promise<void> {
  const startMs = bucketStart("1d", last[0]?.bucket.startMs ?? 0);
  const endMs = startMs + resolutionMs["1d"];
  const times = { fromMs: startMs, toMs: endMs, endOf: () => endMs };
  const query = { resolution: "1h", kinds: countedKinds, ...times } as const;
  const days = new Map<number, Bucket>();
  for (const { targetId, bucket } of await readRollups(trx, targets, query, reading)) {
    days.set(targetId, addBucket(days.get(targetId) ?? emptyBucket(startMs), bucket));
  }
  const cells = last.map((cell) => ({ ...cell, bucket: days.get(cell.targetId) ?? cell.bucket }));
  await writeRollups(trx, "1d", cells);
}

async function writeRollups(
  trx: Db,
  resolution: RolledUp,
  cells: readonly FoldedCell[],
): Promise<void> {
  const rows = cells.flatMap(({ targetId, bucket, counts }) => {
    const { startMs, recordedMs, unobservedMs, names } = bucket;
    const nothing = accountOfNone(bucket);
    // A total is there though there are none.
    const all = new Map(totals.map((counted) => [keyOf(counted, ""), nothing] as const));
    for (const [key, account] of names) all.set(key, account);
    for (const key of counts.keys()) if (!all.has(key)) all.set(key, nothing);
    return Array.from(all, ([key, account]) => {
      const { counted, value } = readKey(key);
      return {
        counted: oneOf(countedKinds, counted),
        resolution,
        start_at_ms: startMs,
        target_id: targetId,
        value,
        recorded_ms: recordedMs,
        gap_ms: unobservedMs,
        ...accountToColumns(account, counts.get(key) ?? null),
      };
    });
  });
  const ids = await valueIds(trx, [...new Set(rows.map(({ value }) => value))]);
  await upsertRollups(
    trx,
    rows.map(({ value, ...row }) => ({ ...row, value_id: ids.get(value) ?? noValue })),
  );
}

const totals: readonly Counted[] = ["server", "sandbox"];

/** No row of `counted_values` has it, so the database refuses it. */
const noValue = -1;

const valuesAtOnce = 500;

async function valueIds(trx: Db, values: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const ids = new Map<string, number>();
  for (const some of batches(values, valuesAtOnce)) {
    const found = trx.selectFrom("counted_values").selectAll().where("value", "in", some);
    const added = trx
      .insertInto("counted_values")
      .values(some.toSorted().map((value) => ({ value })));
    const rows = await findOrAdd(
      some.length,
      () => found.execute(),
      () => added.onConflict((conflict) => conflict.doNothing()).execute(),
    );
    for (const { id, value } of rows) ids.set(value, id);
  }
  return ids;
}
