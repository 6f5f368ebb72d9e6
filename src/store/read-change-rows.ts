import { setImmediate } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import { batches, paced } from "../platform/paced.ts";
import { lastBundledRow } from "./bundle-changes.ts";
import { openBundle } from "./change-bundle.ts";
import type { PlainChangeRow } from "./change-bundle.ts";
import { mayHoldIn } from "./change-filter.ts";
import {
  fewestRows,
  nextLimit,
  readTargets,
  selectBundles,
  selectLoose,
} from "./select-change-rows.ts";
import type { Bundle, RowOrder, RowPlace, RowQuery } from "./select-change-rows.ts";
import { createRowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** A row of changes, of which some may be meant. */
export interface ChangeRow extends PlainChangeRow {
  readonly target: Target;
}

interface Order {
  /** Negative: the first comes first. */
  readonly compare: (one: RowPlace, other: RowPlace) => number;
  /** Whether a row comes before all of a bundle. */
  readonly isBefore: (row: RowPlace, bundle: Bundle) => boolean;
}

const byTime = (one: RowPlace, other: RowPlace): number =>
  one.atMs - other.atMs || one.targetId - other.targetId || one.row - other.row;

const orders: Readonly<Record<RowOrder, Order>> = {
  time: { compare: byTime, isBefore: (row, { firstMs }) => row.atMs < firstMs },
  "time backwards": {
    compare: (one, other) => byTime(other, one),
    isBefore: (row, { lastMs }) => row.atMs > lastMs,
  },
  kept: {
    compare: (one, other) => one.row - other.row,
    isBefore: ({ row }, { firstRow }) => row < firstRow,
  },
};

const unpackedAtOnce = 4_096;

/**
 * Rows of changes, in bundles and loose ones, read beside whatever is being written. A bundle that
 * cannot be read is left out.
 */
export function createChangeRowReader(reader: Kysely<Tables>, reading = createRowReading()) {
  /** Loose rows. Those that came into bundles meanwhile may be missing. */
  async function* readLoose(
    query: RowQuery,
    lastBundled: number,
    beforeTelling: () => Promise<void>,
  ): AsyncGenerator<ChangeRow, void> {
    let limit = fewestRows;
    let select = selectLoose(reader, query, query.begin, true);
    for (;;) {
      const rows = await select.where("changes.id", ">", lastBundled).limit(limit).execute();
      await beforeTelling();
      for (const { words, region, key, ...row } of rows) {
        if (words !== null) yield { ...row, words, target: { region, key } };
      }
      const last = rows.at(-1);
      if (!last || rows.length < limit) return;
      limit = nextLimit(limit, rows);
      select = selectLoose(reader, query, last, false);
      await setImmediate();
    }
  }

  /** What of a bundle is asked for. */
  async function readBundle(
    { lastRow, firstMs, lastMs }: Bundle,
    query: RowQuery,
    targets: ReadonlyMap<number, Target>,
  ): Promise<readonly ChangeRow[]> {
    const stored = await reader
      .selectFrom("change_bundles")
      .select("body")
      .where("last_row", "=", lastRow)
      .executeTakeFirst();
    if (!stored) return [];
    const bundle = await openBundle(stored.body).catch(() => null);
    if (!bundle) {
      const [first, last] = [firstMs, lastMs].map((ms) => new Date(ms).toISOString());
      reading.report("change_bundles", `${lastRow} from ${first} to ${last}`);
      return [];
    }
    const mayBeIn = mayHoldIn(query.selection);
    if (!mayBeIn(bundle.words, bundle.texts)) return [];
    const { compare } = orders[query.order];
    const { begin, fromMs, toMs } = query;
    const found: ChangeRow[] = [];
    for await (const rows of paced(batches(bundle.rows, unpackedAtOnce))) {
      for (const row of rows) {
        const target = targets.get(row.targetId);
        if (
          target &&
          row.atMs >= fromMs &&
          row.atMs < toMs &&
          row.row <= query.lastRow &&
          (!begin || compare(row, begin) >= 0) &&
          mayBeIn(row.words, [row.texts])
        ) {
          found.push({ ...row, target });
        }
      }
    }
    return found;
  }

  return async function* readChangeRows(query: RowQuery): AsyncGenerator<ChangeRow, void> {
    const order = orders[query.order];
    let { begin } = query;
    let past: RowPlace | null = null;
    for (;;) {
      const left = { ...query, begin };
      const lastBundled = await lastBundledRow(reader);
      const bundles = await selectBundles(reader, left, lastBundled);
      const targets = bundles.length > 0 ? await readTargets(reader, query.selection) : new Map();
      const plan = { isStale: false };
      const loose = readLoose(left, lastBundled, async () => {
        plan.isStale = (await lastBundledRow(reader)) !== lastBundled;
      });
      const open = (bundle: Bundle): Promise<readonly ChangeRow[]> =>
        readBundle(bundle, left, targets);
      for await (const row of interleave(loose, bundles, order, open)) {
        if (plan.isStale) break;
        if (past && order.compare(row, past) <= 0) continue;
        yield row;
        begin = past = row;
      }
      if (!plan.isStale) return;
    }
  };
}

/**
 * Rows one by one and those of bundles, all in order. Bundles are opened when their turn comes; they
 * overlap a little, as polls are not kept in the order in which they were made.
 */
async function* interleave(
  loose: AsyncIterator<ChangeRow, void>,
  bundles: readonly Bundle[],
  { compare, isBefore }: Order,
  open: (bundle: Bundle) => Promise<readonly ChangeRow[]>,
): AsyncGenerator<ChangeRow, void> {
  let opened: readonly ChangeRow[] = [];
  let next = await loose.next();
  for (const bundle of [...bundles, null]) {
    let at = 0;
    for (;;) {
      const single = next.value ?? undefined;
      const bundled = opened[at];
      const isSingle = single && (!bundled || compare(single, bundled) < 0);
      const first = isSingle ? single : bundled;
      if (!first || (bundle && !isBefore(first, bundle))) break;
      yield first;
      if (isSingle) next = await loose.next();
      else at += 1;
    }
    if (bundle) opened = [...opened.slice(at), ...(await open(bundle))].toSorted(compare);
  }
}
