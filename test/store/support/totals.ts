import type { Resolution } from "../../../src/fleet/buckets.ts";
import type { Store } from "../../../src/store/store.ts";
import { collectSome } from "../../support/collect.ts";

/** All of a resolution, by start, then by target. */
export async function totalsIn(store: Store, resolution: Resolution) {
  const range = { resolution, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  const found = await collectSome(store.occupancy.totals(range));
  return found.map(({ target, total }) => ({ target, ...total }));
}
