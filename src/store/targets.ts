import type { Selectable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { Incident } from "../alerts/incident.ts";
import type { PoolClock } from "../alerts/judge-pools.ts";
import { initialProgress, nothingKnown, type TargetProgress } from "../alerts/target-state.ts";
import { noOpenBuckets, type OpenBuckets } from "../fleet/accounting.ts";
import type { Target } from "../fleet/model.ts";
import { emptySnapshot, type Snapshot } from "../fleet/snapshot.ts";
import { batches, paced } from "../lib/iterables.ts";
import { flapFromRow, flapId } from "./flap-records.ts";
import { idsPerStatement, readIncidents, selectIncidents } from "./incidents.ts";
import { readOpenBuckets } from "./occupancy-rows.ts";
import { readConsistently, waitForWriters } from "./sql-helpers.ts";
import { createRowReading } from "./damaged-rows.ts";
import { groupsToRead, readSnapshot, readSnapshots } from "./snapshots.ts";
import type { Db, Tables } from "./tables.ts";

/** A target as the store knows it. */
export interface StoredTarget {
  readonly id: number;
  readonly target: Target;
  readonly progress: TargetProgress;
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
  readonly buckets: OpenBuckets;
  /** About how many its snapshot has. */
  readonly servers: number;
}

/** A target with its number in the store. */
export type StoredName = Pick<StoredTarget, "id" | "target">;

/** A target as any process last committed it. */
export interface FollowedTarget extends Pick<
  StoredTarget,
  "id" | "target" | "progress" | "openIncidents" | "servers"
> {
  /** It is another one after each commit about the target. */
  readonly version: number;
  /** The version by which its snapshot was last written. */
  readonly snapshotVersion: number;
}

/** The version of each target's row by its id, as this process read it with the target's state, or last committed it. */
export type TargetVersions = Map<number, number>;

export function createStoredTargets(
  kysely: Db,
  reader: Db,
  versions: TargetVersions,
  reading = createRowReading(),
) {
  /** @param ids null: of all targets */
  const read = async (ids: readonly number[] | null): Promise<readonly StoredTarget[]> => {
    const some = ids ?? [];
    const isAll = ids === null;
    const { targets, incidents, flaps, buckets } = await readConsistently(reader, async (trx) => ({
      targets: await trx
        .selectFrom("targets")
        .selectAll()
        .$if(!isAll, (query) => query.where("id", "in", some))
        .orderBy("id")
        .execute(),
      incidents: await selectIncidents(trx)
        .where("phase", "<>", "resolved")
        .$if(!isAll, (query) => query.where("target_id", "in", some))
        .execute(),
      flaps: await trx
        .selectFrom("flap_records")
        .selectAll()
        .$if(!isAll, (query) => query.where("target_id", "in", some))
        .execute(),
      buckets: await readOpenBuckets(trx, ids, reading),
    }));
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
        servers: row.servers,
      };
    });
  };

  return {
    /** All that were ever watched, also those that the configuration does not name any more. */
    all: (): Promise<readonly StoredTarget[]> => read(null),

    /** Some of them. */
    async some(targets: readonly StoredName[]): Promise<readonly StoredTarget[]> {
      const found: StoredTarget[] = [];
      for await (const batch of paced(batches(targets, idsPerStatement))) {
        found.push(...(await read(batch.map(({ id }) => id))));
      }
      return found;
    },

    /** The numbers of all. */
    async names(): Promise<readonly StoredName[]> {
      const rows = await reader.selectFrom("targets").select(["id", "region", "key"]).execute();
      return rows.map(({ id, region, key }) => ({ id, target: { region, key } }));
    },

    /** Those that have something which `retireIncidents` may end. */
    async namesWithIncidents(): Promise<readonly StoredName[]> {
      const rows = await reader
        .selectFrom("targets")
        .select(["id", "region", "key"])
        .where((where) =>
          where.or([
            where.exists(
              where
                .selectFrom("incidents")
                .select("incidents.id")
                .whereRef("incidents.target_id", "=", "targets.id")
                .where("incidents.phase", "<>", "resolved"),
            ),
            where.exists(
              where
                .selectFrom("flap_records")
                .select("flap_records.target_id")
                .whereRef("flap_records.target_id", "=", "targets.id"),
            ),
          ]),
        )
        .execute();
      return rows.map(({ id, region, key }) => ({ id, target: { region, key } }));
    },

    /**
     * All of them or none. Those that are next to each other are also stored like that. One that another process has just
     * added is given as it is stored.
     */
    async addAll(targets: readonly Target[]): Promise<readonly StoredTarget[]> {
      const { added, others } = await kysely.transaction().execute(async (trx) => {
        await waitForWriters(trx);
        const inserted: StoredTarget[] = [];
        const stored: number[] = [];
        for (const { region, key } of targets) {
          const progress = progressToRow(initialProgress);
          const row = await trx
            .insertInto("targets")
            .values({ region, key, version: 0, snapshot_version: 0, servers: 0, ...progress })
            .onConflict((conflict) => conflict.columns(["region", "key"]).doNothing())
            .returning("id")
            .executeTakeFirst();
          if (row) {
            inserted.push({ id: row.id, target: { region, key }, ...nothingKnown, servers: 0 });
            continue;
          }
          const { id } = await trx
            .selectFrom("targets")
            .select("id")
            .where("region", "=", region)
            .where("key", "=", key)
            .executeTakeFirstOrThrow();
          stored.push(id);
        }
        return { added: inserted, others: stored };
      });
      for (const { id } of added) versions.set(id, 0);
      return others.length === 0 ? added : [...added, ...(await read(others))];
    },

    snapshotOf: (targetId: number): Promise<Snapshot> =>
      readConsistently(reader, (trx) => readSnapshot(trx, targetId, reading)),

    /** The present version of each target, by its id. */
    async versions(): Promise<ReadonlyMap<number, number>> {
      const rows = await reader.selectFrom("targets").select(["id", "version"]).execute();
      return new Map(rows.map(({ id, version }) => [id, version]));
    },

    /** Some targets as any process last committed them, but for their snapshots. */
    async *follow(ids: Iterable<number>): AsyncIterable<readonly FollowedTarget[]> {
      for await (const some of paced(batches(ids, idsPerStatement))) {
        const { targets, incidents } = await readConsistently(reader, async (trx) => ({
          targets: await trx
            .selectFrom("targets")
            .select([...progressColumns, "id", "region", "key", "servers"])
            .select(["version", "snapshot_version"])
            .where("id", "in", some)
            .execute(),
          incidents: await selectIncidents(trx)
            .where("target_id", "in", some)
            .where("phase", "<>", "resolved")
            .execute(),
        }));
        const byTarget = Map.groupBy(incidents, (row) => row.target_id);
        yield targets.map(({ id, region, key, version, servers, ...row }) => {
          const openIncidents = readIncidents(reading, byTarget.get(id) ?? []);
          const progress = reading.read("targets", id, row, progressFromRow);
          return {
            id,
            target: { region, key },
            version,
            snapshotVersion: row.snapshot_version,
            servers,
            progress: progress ?? progressAfter(openIncidents),
            openIncidents,
          };
        });
      }
    },

    /** The snapshots of some targets, those of small ones together. */
    async *snapshotsOf(
      targets: Iterable<Pick<FollowedTarget, "id" | "servers">>,
    ): AsyncIterable<readonly [id: number, snapshot: Snapshot]> {
      for (const group of groupsToRead(targets)) {
        const ids = group.map(({ id }) => id);
        const snapshots = await readConsistently(reader, (trx) => readSnapshots(trx, ids, reading));
        for (const id of ids) yield [id, snapshots.get(id) ?? emptySnapshot];
      }
    },

    /** How long pools were watched. */
    async poolClocks(): Promise<readonly PoolClock[]> {
      const rows = await kysely.selectFrom("pool_clocks").selectAll().execute();
      return rows.map(({ region, key, ...clock }) => ({
        ...clock,
        region: region || null,
        key: key || null,
      }));
    },
  };
}

/** The clocks of a target whose row is damaged, continued from the latest readings in its open incidents. */
function progressAfter(incidents: readonly Incident[]): TargetProgress {
  const held = incidents.flatMap(({ phase }) => (phase.name === "resolved" ? [] : phase.heldSince));
  const latest = {
    ms: Math.max(0, ...held.map(({ ms }) => ms)),
    polls: Math.max(0, ...held.map(({ polls }) => polls)),
  };
  return { ...initialProgress, attempted: latest, observed: latest };
}

/** The columns of a target's row that every poll writes. */
const progressColumns = [
  "attempted_polls",
  "attempted_ms",
  "observed_polls",
  "observed_ms",
  "failures_in_a_row",
  "last_failure",
  "last_status",
  "failing_since_at_ms",
  "last_poll_at_ms",
  "last_success_at_ms",
  "last_complete",
] as const;

type ProgressColumn = (typeof progressColumns)[number];

export function progressToRow(progress: TargetProgress): Pick<Tables["targets"], ProgressColumn> {
  return {
    attempted_polls: progress.attempted.polls,
    attempted_ms: progress.attempted.ms,
    observed_polls: progress.observed.polls,
    observed_ms: progress.observed.ms,
    failures_in_a_row: progress.failuresInARow,
    last_failure: progress.lastFailure,
    last_status: progress.lastStatus,
    failing_since_at_ms: progress.failingSinceMs,
    last_poll_at_ms: progress.lastPollAtMs,
    last_success_at_ms: progress.lastSuccessAtMs,
    last_complete: Number(progress.lastComplete),
  };
}

function progressFromRow(row: Pick<Selectable<Tables["targets"]>, ProgressColumn>): TargetProgress {
  return {
    attempted: { polls: row.attempted_polls, ms: row.attempted_ms },
    observed: { polls: row.observed_polls, ms: row.observed_ms },
    failuresInARow: row.failures_in_a_row,
    lastFailure: row.last_failure,
    lastStatus: row.last_status,
    failingSinceMs: row.failing_since_at_ms,
    lastPollAtMs: row.last_poll_at_ms,
    lastSuccessAtMs: row.last_success_at_ms,
    lastComplete: row.last_complete === 1,
  };
}
