import { type Selectable, PostgresAdapter, sql } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { Incident } from "../alerts/incident.ts";
import type { PoolClock } from "../alerts/judge-pools.ts";
import { initialProgress, nothingKnown, type TargetProgress } from "../alerts/target-state.ts";
import type { Target } from "../fleet/model.ts";
import type { RecordedTime } from "../fleet/recorded-time.ts";
import { emptySnapshot, type Snapshot } from "../fleet/snapshot.ts";
import { batches, paced } from "../lib/iterables.ts";
import { flapFromRow, flapId } from "./flap-records.ts";
import { idsPerStatement, readIncidents, selectIncidents } from "./incidents.ts";
import { readConsistently, prepareUpsert } from "./sql-helpers.ts";
import { createRowReading } from "./row-reading.ts";
import { groupsToRead, readSnapshot, readSnapshots } from "./snapshots.ts";
import type { Db, RecordedColumn, Tables } from "./tables.ts";

/** A target as the store knows it. */
export interface StoredTarget {
  readonly id: number;
  readonly target: Target;
  readonly progress: TargetProgress;
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
  /** About how many its snapshot has. */
  readonly servers: number;
}

/** A target with its number in the store. */
export type StoredName = Pick<StoredTarget, "id" | "target">;

export function createStoredTargets(kysely: Db, reader: Db, reading = createRowReading()) {
  /** @param ids null: of all targets */
  const read = async (ids: readonly number[] | null): Promise<readonly StoredTarget[]> => {
    const some = ids ?? [];
    const isAll = ids === null;
    const { targets, incidents, flaps } = await readConsistently(reader, async (trx) => ({
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
    }));
    const flapsByTarget = Map.groupBy(flaps, (row) => row.target_id);
    const byTarget = Map.groupBy(incidents, (row) => row.target_id);
    return targets.map((row) => {
      const openIncidents = readIncidents(reading, byTarget.get(row.id) ?? []);
      return {
        id: row.id,
        target: { region: row.region, key: row.key },
        progress:
          reading.read("targets", row.id, row, progressFromRow) ??
          progressAfter(openIncidents, row),
        openIncidents,
        flaps: reading.all("flap_records", flapsByTarget.get(row.id) ?? [], flapId, flapFromRow),
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
    namesWithIncidents: (): Promise<readonly StoredName[]> => readNamesWithIncidents(reader),

    /** All of them or none. Those that are next to each other are also stored like that. */
    addAll: (targets: readonly Target[]): Promise<readonly StoredTarget[]> =>
      kysely.transaction().execute(async (trx) => {
        const added: StoredTarget[] = [];
        for (const { region, key } of targets) {
          const { id } = await trx
            .insertInto("targets")
            .values({ region, key, servers: 0, ...progressToRow(initialProgress) })
            .returning("id")
            .executeTakeFirstOrThrow();
          added.push({ id, target: { region, key }, ...nothingKnown, servers: 0 });
        }
        return added;
      }),

    snapshotOf: (targetId: number): Promise<Snapshot> =>
      readConsistently(reader, (trx) => readSnapshot(trx, targetId, reading)),

    /** The snapshots of some targets, those of small ones together. */
    async *snapshotsOf(
      targets: Iterable<Pick<StoredTarget, "id" | "servers">>,
    ): AsyncIterable<readonly [id: number, snapshot: Snapshot]> {
      for (const group of groupsToRead(targets)) {
        const ids = group.map(({ id }) => id);
        const snapshots = await readConsistently(reader, (trx) => readSnapshots(trx, ids, reading));
        for (const id of ids) yield [id, snapshots.get(id) ?? emptySnapshot];
      }
    },

    /** How long pools were watched. */
    poolClocks: (): Promise<readonly PoolClock[]> => readPoolClocks(kysely),
  };
}

/** The clocks of a target whose row is skipped, continued from the latest readings in its open incidents. */
function progressAfter(
  incidents: readonly Incident[],
  row: Pick<Tables["targets"], RecordedColumn>,
): TargetProgress {
  const held = incidents.flatMap(({ phase }) => (phase.name === "resolved" ? [] : phase.heldSince));
  const latest = {
    ms: Math.max(0, ...held.map(({ ms }) => ms)),
    polls: Math.max(0, ...held.map(({ polls }) => polls)),
  };
  const recorded = recordedFromRow(row);
  const isSound = Number.isSafeInteger(recorded?.fromMs) && Number.isSafeInteger(recorded?.toMs);
  // As after a complete listing: what passed since then is a gap.
  return {
    ...initialProgress,
    attempted: latest,
    observed: latest,
    lastComplete: true,
    recorded: isSound ? recorded : null,
  };
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
  "recorded_from_ms",
  "recorded_to_ms",
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
    recorded_from_ms: progress.recorded?.fromMs ?? null,
    recorded_to_ms: progress.recorded?.toMs ?? null,
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
    recorded: recordedFromRow(row),
  };
}

function recordedFromRow({
  recorded_from_ms: fromMs,
  recorded_to_ms: toMs,
}: Pick<Tables["targets"], RecordedColumn>): RecordedTime | null {
  return fromMs === null || toMs === null ? null : { fromMs, toMs };
}

async function readNamesWithIncidents(reader: Db): Promise<readonly StoredName[]> {
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
}

async function readPoolClocks(kysely: Db): Promise<readonly PoolClock[]> {
  const rows = await kysely.selectFrom("pool_clocks").selectAll().execute();
  return rows.map(({ region, key, ...clock }) => ({
    ...clock,
    region: region || null,
    key: key || null,
  }));
}

/** All that a poll writes into the row of its target. */
export type PolledTarget = Omit<Tables["targets"], "id" | "region" | "key" | "rolled_up_to_ms"> & {
  readonly id: number;
};

const rowsAtOnce = 500;

export async function writeTargets(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  if (isPostgres(trx)) return writeInOne(trx, rows);
  for (const { id, ...columns } of rows) {
    await trx.updateTable("targets").set(columns).where("id", "=", id).execute();
  }
}

/** PostgreSQL answers each statement over the network. */
async function writeInOne(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  for (const some of batches(rows, rowsAtOnce)) {
    const { id: _, ...columns } = some[0] ?? {};
    const set = Object.keys(columns).map(
      (name) => sql`${sql.ref(name)} = ${sql.ref(`polled.${name}`)}`,
    );
    await sql`
      update targets set ${sql.join(set)}
      from json_populate_recordset(null::targets, ${JSON.stringify(some)}) as polled
      where targets.id = polled.id
    `.execute(trx);
  }
}

/** The columns that differ after a poll that changed nothing, with their types. */
const clockColumns = [
  ["attempted_polls", "bigint"],
  ["attempted_ms", "double precision"],
  ["observed_polls", "bigint"],
  ["observed_ms", "double precision"],
  ["last_poll_at_ms", "bigint"],
  ["last_success_at_ms", "bigint"],
  ["recorded_to_ms", "bigint"],
] as const;

const clockAssignments = clockColumns
  .map(([name, type], index) => `${name} = cast(clocks.value ->> ${index + 1} as ${type})`)
  .join(", ");

/** Writes the clocks of targets of which nothing else differs. */
export async function writeClocks(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  const source = isPostgres(trx) ? "json_array_elements" : "json_each";
  for await (const some of paced(batches(rows, rowsAtOnce))) {
    const values = some.map((row) => [row.id, ...clockColumns.map(([name]) => row[name])]);
    await sql`
      update targets set ${sql.raw(clockAssignments)}
      from ${sql.raw(source)}(${JSON.stringify(values)}) as clocks
      where targets.id = cast(clocks.value ->> 0 as bigint)
    `.execute(trx);
  }
}

const upsertPoolClocks = prepareUpsert("pool_clocks", ["rule", "region", "key"]);

export async function writePoolClocks(trx: Db, clocks: Iterable<PoolClock>): Promise<void> {
  const rows = Array.from(clocks, ({ rule, region, key, ms }) => {
    return { rule, region: region ?? "", key: key ?? "", ms };
  });
  await upsertPoolClocks(trx, rows);
}

function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
