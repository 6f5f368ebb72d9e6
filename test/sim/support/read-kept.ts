import { allTime } from "../../../src/store/change-history.ts";
import type { Store } from "../../../src/store/store.ts";
import { collect, collectSome } from "../../support/collect.ts";
import { resolutions } from "../history.ts";
import type { KeptBucket, KeptHistory, Resolution } from "../history.ts";
import type { ScenarioTarget } from "../scenario.ts";

/** What the product says at the end that it has of each target. */
export async function readKept(
  store: Store,
  targets: readonly ScenarioTarget[],
): Promise<ReadonlyMap<string, KeptHistory>> {
  const kept = new Map<string, KeptHistory>();
  for (const { name, region, key } of targets) {
    const query = { ...allTime, region: [region], key: [key] };
    const buckets = new Map<Resolution, readonly KeptBucket[]>();
    for (const resolution of resolutions) {
      const found = await collectSome(store.occupancy.buckets({ ...query, resolution }));
      buckets.set(
        resolution,
        found.map(({ bucket }) => bucket),
      );
    }
    const changes = await collect(
      store.changes.between({ ...query, direction: "asc", observations: true }),
    );
    kept.set(name, { buckets, changes });
  }
  return kept;
}
