import type { Kysely } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { Incident } from "../alerts/incident.ts";
import type { Target } from "../fleet/model.ts";
import { noOpenBuckets } from "../fleet/accounting.ts";
import type { OpenBuckets } from "../fleet/accounting.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { PoolClock } from "../alerts/pool-watch.ts";
import { initialProgress, nothingKnown } from "../alerts/target-state.ts";
import type { TargetProgress } from "../alerts/target-state.ts";
import { readConsistently } from "./queries.ts";
import { flapFromRow, flapId } from "./flap-rows.ts";
import { readIncidents } from "./incident-rows.ts";
import { readOpenBuckets } from "./occupancy-rows.ts";
import type { TargetVersions } from "./poll-commits.ts";
import { createRowReading } from "./row-reading.ts";
import { readSnapshot } from "./snapshot-rows.ts";
import { progressFromRow, progressToRow } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

/** A target as the store knows it. */
export interface StoredTarget {
  readonly id: number;
  readonly target: Target;
  readonly progress: TargetProgress;
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
  readonly buckets: OpenBuckets;
}

export interface StoredTargets {
  /** All that were ever watched, also those that the configuration does not name any more. */
  all(): Promise<readonly StoredTarget[]>;
  /** All of them or none. Those that are next to each other are also stored like that. */
  addAll(targets: readonly Target[]): Promise<readonly StoredTarget[]>;
  snapshotOf(targetId: number): Promise<Snapshot>;
  /** How long pools were watched. */
  poolClocks(): Promise<readonly PoolClock[]>;
}

export function createStoredTargets(
  kysely: Kysely<Tables>,
  reader: Kysely<Tables>,
  versions: TargetVersions,
  reading = createRowReading(),
): StoredTargets {
  const readAll = async (trx: Kysely<Tables>) => ({
    targets: await trx.selectFrom("targets").selectAll().orderBy("id").execute(),
    incidents: await trx
      .selectFrom("incidents")
      .selectAll()
      .where("phase", "<>", "resolved")
      .execute(),
    flaps: await trx.selectFrom("flap_records").selectAll().execute(),
    buckets: await readOpenBuckets(trx, reading),
  });

  return {
    async all() {
      const { targets, incidents, flaps, buckets } = await readConsistently(reader, readAll);
      for (const { id, version } of targets) versions.set(id, version);
      const flapsByTarget = Map.groupBy(flaps, (row) => row.target_id);
      const byTarget = Map.groupBy(incidents, (row) => row.target_id);
      return targets.map((row) => {
        const openIncidents = readIncidents(reading, byTarget.get(row.id) ?? []);
        return {
          id: row.id,
          target: { region: row.region, key: row.key },
          progress:
            reading.read("targets", row.id, row, progressFromRow) ?? progressAfter(openIncidents),
          openIncidents,
          flaps: reading.all("flap_records", flapsByTarget.get(row.id) ?? [], flapId, flapFromRow),
          buckets: buckets.get(row.id) ?? noOpenBuckets,
        };
      });
    },
    async addAll(targets) {
      const added = await kysely.transaction().execute(async (trx) => {
        const inserted: StoredTarget[] = [];
        for (const target of targets) inserted.push(await insertTarget(trx, target));
        return inserted;
      });
      for (const { id } of added) versions.set(id, 0);
      return added;
    },
    snapshotOf: (targetId) =>
      readConsistently(reader, (trx) => readSnapshot(trx, targetId, reading)),
    poolClocks: () => kysely.selectFrom("pool_clocks").selectAll().execute(),
  };
}

/** Where a target's own row cannot be read, its clocks go on from the latest readings that its open incidents hold. */
function progressAfter(incidents: readonly Incident[]): TargetProgress {
  const held = incidents.flatMap(({ phase }) => (phase.name === "resolved" ? [] : phase.heldSince));
  const latest = {
    ms: Math.max(0, ...held.map(({ ms }) => ms)),
    polls: Math.max(0, ...held.map(({ polls }) => polls)),
  };
  return { ...initialProgress, attempted: latest, observed: latest };
}

async function insertTarget(db: Kysely<Tables>, { region, key }: Target): Promise<StoredTarget> {
  const { id } = await db
    .insertInto("targets")
    .values({ region, key, version: 0, ...progressToRow(initialProgress), open_bucket: null })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { id, target: { region, key }, ...nothingKnown };
}
