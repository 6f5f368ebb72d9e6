import { DatabaseSync } from "node:sqlite";
import { allTime } from "../../../src/store/change-history.ts";
import type { Store } from "../../../src/store/store.ts";
import { collect, collectSome } from "../../support/collect.ts";
import { resolutions } from "../history.ts";
import type { KeptBucket, KeptHistory, Resolution } from "../history.ts";
import type { ScenarioTarget } from "../scenario.ts";

const gapsOf = `select from_at_ms as fromMs, to_at_ms as toMs from gaps
  join targets on targets.id = gaps.target_id where region = ? and key = ? order by from_at_ms`;

/** What the product says at the end that it has of each target; the gaps of observation as they are stored. */
export async function readKept(
  store: Store,
  path: string,
  targets: readonly ScenarioTarget[],
): Promise<ReadonlyMap<string, KeptHistory>> {
  const kept = new Map<string, KeptHistory>();
  using database = new DatabaseSync(path, { readOnly: true });
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
    const gaps = database
      .prepare(gapsOf)
      .all(region, key)
      .map(({ fromMs, toMs }) => ({ fromMs: Number(fromMs), toMs: Number(toMs) }));
    kept.set(name, { gaps, buckets, changes });
  }
  return kept;
}
