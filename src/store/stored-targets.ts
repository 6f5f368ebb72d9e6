import type { Kysely } from "kysely";
import type { FlapRecord } from "../core/flap-record.ts";
import type { Incident } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import { noAccounts } from "../core/occupancy/accounts.ts";
import type { Accounts } from "../core/occupancy/accounts.ts";
import type { PoolClock } from "../core/pool-watch.ts";
import type { PackedSnapshot } from "../core/snapshot/packed-snapshot.ts";
import { initialProgress, nothingKnown } from "../core/target-state.ts";
import type { TargetProgress } from "../core/target-state.ts";
import { noneOpen, readOpenBuckets } from "./bucket-rows.ts";
import { flapFromRow, flapId } from "./flap-rows.ts";
import { readIncidents } from "./incident-rows.ts";
import { createRowReading } from "./row-reading.ts";
import type { SnapshotPages } from "./snapshot-pages.ts";
import { progressFromRow, progressToRow } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

/** A target as the store knows it. */
export interface StoredTarget {
  readonly id: number;
  readonly target: Target;
  readonly progress: TargetProgress;
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
  readonly accounts: Accounts;
}

export interface StoredTargets {
  /** All that were ever watched, also those that the configuration does not name any more. */
  all(): Promise<readonly StoredTarget[]>;
  /** All of them or none. Those that are next to each other are also stored like that. */
  addAll(targets: readonly Target[]): Promise<readonly StoredTarget[]>;
  snapshotOf(targetId: number): Promise<PackedSnapshot>;
  /** How long pools were watched. */
  poolClocks(): Promise<readonly PoolClock[]>;
}

export function createStoredTargets(
  kysely: Kysely<Tables>,
  pages: SnapshotPages,
  reading = createRowReading(),
): StoredTargets {
  return {
    async all() {
      const targets = await kysely.selectFrom("targets").selectAll().orderBy("id").execute();
      const incidents = await kysely
        .selectFrom("incidents")
        .selectAll()
        .where("phase", "<>", "resolved")
        .execute();
      const flaps = await kysely.selectFrom("flap_records").selectAll().execute();
      const accounts = await readOpenBuckets(kysely, reading);
      const flapsByTarget = Map.groupBy(flaps, (row) => row.target_id);
      const byTarget = Map.groupBy(incidents, (row) => row.target_id);
      return targets.map((row) => ({
        id: row.id,
        target: { region: row.region, key: row.key },
        progress: progressFromRow(row),
        openIncidents: readIncidents(reading, byTarget.get(row.id) ?? []),
        flaps: reading.all("flap_records", flapsByTarget.get(row.id) ?? [], flapId, flapFromRow),
        accounts: accounts.get(row.id) ?? noAccounts,
      }));
    },
    addAll: (targets) =>
      kysely.transaction().execute(async (trx) => {
        const added: StoredTarget[] = [];
        for (const target of targets) added.push(await insertTarget(trx, target));
        return added;
      }),
    snapshotOf: (targetId) => pages.restore(targetId),
    poolClocks: () => kysely.selectFrom("pool_clocks").selectAll().execute(),
  };
}

async function insertTarget(db: Kysely<Tables>, { region, key }: Target): Promise<StoredTarget> {
  const { id } = await db
    .insertInto("targets")
    .values({ region, key, ...progressToRow(initialProgress), ...noneOpen })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { id, target: { region, key }, ...nothingKnown };
}
