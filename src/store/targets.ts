import { type InferResult, PostgresAdapter, sql } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { Incident } from "../alerts/incident.ts";
import type { PoolClock } from "../alerts/judge-pools.ts";
import { initialProgress, nothingKnown, type TargetProgress } from "../alerts/target-state.ts";
import { bucketStart, resolutionMs } from "../fleet/buckets.ts";
import type { Target } from "../fleet/model.ts";
import type { RecordedTime } from "../fleet/recorded-time.ts";
import { emptySnapshot, type Snapshot } from "../fleet/snapshot.ts";
import { batches, paced } from "../lib/iterables.ts";
import { flapFromRow } from "./flap-records.ts";
import { idsPerStatement, readIncidents, selectIncidents } from "./incidents.ts";
import { readConsistently, prepareUpsert } from "./sql-helpers.ts";
import { createRowReading, type RowReading } from "./row-reading.ts";
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

/** A target with what is stored of its history. */
export interface HistoryTarget extends StoredName {
  readonly recorded: RecordedTime;
  /** The end of the last hour that is rolled up. */
  readonly rolledUpToMs: number;
}

/** The rows of {@link historyTargets}. */
export function selectHistory(reader: Db) {
  return reader
    .selectFrom("targets")
    .select(["id", "region", "key", "rolled_up_to_ms as rolledUpToMs"])
    .select(["recorded_from_ms as fromMs", "recorded_to_ms as toMs"]);
}

/** The rows of those of which an hour is over that is not rolled up, from the earliest hour on. */
export function selectDue(reader: Db) {
  const hourMs = resolutionMs["1h"];
  const since = sql<number>`coalesce(rolled_up_to_ms, recorded_from_ms - recorded_from_ms % ${hourMs})`;
  return selectHistory(reader)
    .where("recorded_to_ms", ">=", sql<number>`${since} + ${hourMs}`)
    .orderBy(since)
    .orderBy("id");
}

/** Those of which something was recorded. */
export function historyTargets(
  rows: InferResult<ReturnType<typeof selectHistory>>,
): readonly HistoryTarget[] {
  return rows.flatMap(({ id, region, key, fromMs, toMs, rolledUpToMs }) => {
    if (fromMs === null || toMs === null) return [];
    const recorded = { fromMs, toMs };
    const rolledUp = rolledUpToMs ?? bucketStart("1h", fromMs);
    return [{ id, target: { region, key }, recorded, rolledUpToMs: rolledUp }];
  });
}

/** A target with its number in the store. */
export type StoredName = Pick<StoredTarget, "id" | "target">;

export function createStoredTargets(kysely: Db, reader: Db, reading = createRowReading()) {
  return {
    /** All that were ever watched, also those that the configuration does not name any more. */
    all: (): Promise<readonly StoredTarget[]> => readTargets(reader, reading, null),

    /** Some of them. */
    async some(targets: readonly StoredName[]): Promise<readonly StoredTarget[]> {
      const found: StoredTarget[] = [];
      for await (const batch of paced(batches(targets, idsPerStatement))) {
        found.push(
          ...(await readTargets(
            reader,
            reading,
            batch.map(({ id }) => id),
          )),
        );
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

    /** All that were ever watched, with when they were last polled, in UTC milliseconds; null: never. */
    async polled() {
      const rows = await reader
        .selectFrom("targets")
        .select(["region", "key", "last_poll_at_ms as lastPollAtMs"])
        .orderBy("id")
        .execute();
      return rows.map(({ lastPollAtMs, ...target }) => ({ target, lastPollAtMs }));
    },

    /** The snapshot of a target, and when it was polled with it. Null: there is no such target. */
    present: ({ region, key }: Target) =>
      readConsistently(reader, async (trx) => {
        const row = await trx
          .selectFrom("targets")
          .select(["id", "last_poll_at_ms as lastPollAtMs"])
          .where("region", "=", region)
          .where("key", "=", key)
          .executeTakeFirst();
        if (!row) return null;
        const snapshot = await readSnapshot(trx, row.id, reading);
        return { lastPollAtMs: row.lastPollAtMs, snapshot };
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

/** @param ids null: of all targets */
async function readTargets(
  reader: Db,
  reading: RowReading,
  ids: readonly number[] | null,
): Promise<readonly StoredTarget[]> {
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
      progress: reading.read("targets", row, progressFromRow) ?? progressAfter(openIncidents, row),
      openIncidents,
      flaps: reading.all("flap_records", flapsByTarget.get(row.id) ?? [], flapFromRow),
      servers: row.servers,
    };
  });
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

/** All that a poll writes into the row of its target. */
export type PolledTarget = Omit<Tables["targets"], "id" | "region" | "key" | "rolled_up_to_ms"> & {
  readonly id: number;
};

type ProgressColumns = Omit<PolledTarget, "id" | "servers">;

export function progressToRow(progress: TargetProgress): ProgressColumns {
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

function progressFromRow(row: ProgressColumns): TargetProgress {
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
  const { rows } = await sql<Target & { readonly id: number }>`
    select id, region, key from targets where id in (
      select target_id from incidents where target_id is not null and phase <> 'resolved'
      union select target_id from flap_records
    )
  `.execute(reader);
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

const rowsAtOnce = 500;

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

/** Writes the clocks of targets of which nothing else differs. */
export const writeClocks = prepareUpdate(clockColumns);

export const writeTargets = prepareUpdate([
  ...clockColumns,
  ["failures_in_a_row", "bigint"],
  ["last_failure", "text"],
  ["last_status", "bigint"],
  ["failing_since_at_ms", "bigint"],
  ["last_complete", "bigint"],
  ["servers", "bigint"],
  ["recorded_from_ms", "bigint"],
]);

/** Writes some columns of many targets with one statement. */
function prepareUpdate(columns: readonly (readonly [name: keyof PolledTarget, type: string])[]) {
  const updateFrom = (source: string, valueOf: (index: number, type: string) => string): string => {
    const set = columns.map(([name, type], index) => `${name} = ${valueOf(index + 1, type)}`);
    return `update targets set ${set.join(", ")} from ${source}`;
  };
  const onSqlite = updateFrom("json_each", (index) => `polled.value ->> ${index}`);
  // PostgreSQL gives all as text.
  const onPostgres = updateFrom(
    "json_array_elements",
    (index, type) => `cast(polled.value ->> ${index} as ${type})`,
  );
  return async (trx: Db, rows: Iterable<PolledTarget>): Promise<void> => {
    const isPostgres = trx.getExecutor().adapter instanceof PostgresAdapter;
    for await (const some of paced(batches(rows, rowsAtOnce))) {
      const values = some.map((row) => [row.id, ...columns.map(([name]) => row[name])]);
      await sql`
        ${sql.raw(isPostgres ? onPostgres : onSqlite)}(${JSON.stringify(values)}) as polled
        where targets.id = cast(polled.value ->> 0 as bigint)
      `.execute(trx);
    }
  };
}

const upsertPoolClocks = prepareUpsert("pool_clocks", ["rule", "region", "key"]);

export async function writePoolClocks(trx: Db, clocks: Iterable<PoolClock>): Promise<void> {
  const rows = Array.from(clocks, ({ rule, region, key, ms }) => {
    return { rule, region: region ?? "", key: key ?? "", ms };
  });
  await upsertPoolClocks(trx, rows);
}
