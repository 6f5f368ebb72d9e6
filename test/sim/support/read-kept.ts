import type { Bucket, NameAccount } from "../../../src/core/occupancy/bucket.ts";
import { countStays, stayQuantileMs } from "../../../src/core/occupancy/stay-sketch.ts";
import type { StaySketch } from "../../../src/core/occupancy/stay-sketch.ts";
import { allTime } from "../../../src/store/change-history.ts";
import type { Store } from "../../../src/store/store.ts";
import { collect, collectSome } from "../../support/collect.ts";
import { quantiles, resolutions, statuses } from "../history.ts";
import type {
  ByStatus,
  KeptAccount,
  KeptBucket,
  KeptHistory,
  KeptStays,
  Resolution,
  Status,
} from "../history.ts";
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
        found.map(({ bucket }) => keptBucket(bucket)),
      );
    }
    const changes = await collect(
      store.changes.between({ ...query, direction: "asc", lapses: true }),
    );
    kept.set(name, { buckets, changes });
  }
  return kept;
}

function keptBucket({ names, ...bucket }: Bucket): KeptBucket {
  const accounts = Array.from(names, ([name, account]) => [name, keptAccount(account)] as const);
  return { ...bucket, names: new Map(accounts) };
}

function keptAccount({ stays, ...account }: NameAccount): KeptAccount {
  return { ...account, stays: byStatus((status) => keptStays(stays[status])) };
}

function keptStays(sketch: StaySketch): KeptStays {
  const quantilesMs = quantiles.map((each) => stayQuantileMs(sketch, each) ?? 0);
  return { count: countStays(sketch), sumMs: sketch.sumMs, quantilesMs };
}

function byStatus<T>(valueOf: (status: Status) => T): ByStatus<T> {
  const [idle, occupied, error, unknown] = statuses;
  return {
    idle: valueOf(idle),
    occupied: valueOf(occupied),
    error: valueOf(error),
    unknown: valueOf(unknown),
  };
}
