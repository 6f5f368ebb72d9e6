import { sql } from "kysely";
import { createChangeBundling, usualBundles } from "../../src/store/bundle-changes.ts";
import { allTime } from "../../src/store/change-history.ts";
import { openDatabase } from "../../src/store/database.ts";
import { createStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import { checkEqual } from "./check.ts";
import { readSizes } from "./table-sizes.ts";
import { measureTurns, rowsOfTurns } from "./turns.ts";

/** Bytes that a change takes. */
export interface ChangeBytes {
  readonly loose: number;
  readonly bundled: number;
}

/** Brings a day's changes into three bundles, as it goes with those that are no longer the latest. */
export async function bundleDay(file: string, count: number) {
  const { kysely, reader, close } = openDatabase(file);
  const store = createStore(kysely, close, { reader });
  const bundled = Math.min(usualBundles.bundled, Math.floor(count / 3));
  const readAll = () => measureTurns(() => readChanges(store));
  const loose = await readChanges(store);
  const looseBytes = (await readSizes(kysely)).get("changes") ?? 0;
  const readLoose = await readAll();
  const step = createChangeBundling(kysely, { bundled, loose: 0 });
  const steps = await measureTurns(async () => {
    while (await step());
  }, 1);
  const { rows } = await sql<{ left: number }>`
    select sum(change_count + lapse_count) as left from changes
  `.execute(kysely);
  const bundles = (await readSizes(kysely)).get("change_bundles") ?? 0;
  const inBundles = loose - (rows[0]?.left ?? 0);
  checkEqual("changes in bundles and loose ones", await readChanges(store), loose);
  const readBundled = await readAll();
  await store.close();
  const bytes: ChangeBytes = { loose: looseBytes / loose, bundled: bundles / inBundles };
  return {
    bytes,
    measured: [
      ...rowsOfTurns(`reading ${loose} changes, as they were written`, readLoose),
      ...rowsOfTurns("reading them, most of them in bundles", readBundled),
      ...rowsOfTurns(`bringing ${inBundles} into bundles`, steps),
    ],
  };
}

async function readChanges(store: Store): Promise<number> {
  let count = 0;
  const all = store.changes.between({ ...allTime, direction: "asc", lapses: true });
  for await (const change of all) count += change.serverId === "" ? 0 : 1;
  return count;
}
