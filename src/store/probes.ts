import { sql, type InferResult, type Insertable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { ProbeSubject } from "../alerts/subjects.ts";
import type { ProbeVerdict } from "../alerts/judge-probe.ts";
import { initialProbeProgress, probeFailures } from "../alerts/probe.ts";
import type { ProbeProgress, ProbeResult } from "../alerts/probe.ts";
import { incidentRows, writeIncidents } from "./incidents.ts";
import { storableText } from "./sql-helpers.ts";
import { createRowReading, oneOf, type RowReading } from "./row-reading.ts";
import { flapFromColumns, writeProbeFlaps } from "./flap-records.ts";
import type { SharedCommits } from "./shared-commits.ts";
import type { Db, Tables } from "./tables.ts";

/** A probe in a region with a key as the store knows it. */
export interface StoredProbe {
  readonly id: number;
  readonly subject: ProbeSubject;
  readonly progress: ProbeProgress;
  readonly flaps: readonly FlapRecord[];
}

/** The results that are kept of a probe in a region with a key. */
export const keptResults = 1_000;

export function createStoredProbes(
  kysely: Db,
  reader: Db,
  commits: SharedCommits,
  reading = createRowReading(),
) {
  return {
    /** All that were ever run and not removed. */
    all: (): Promise<readonly StoredProbe[]> => readAll(reader, reading),

    async add(subject: ProbeSubject): Promise<StoredProbe> {
      const { probe, region, key } = subject;
      // Where another process has just added it, it is as new there.
      const { id } = await kysely
        .insertInto("probes")
        .values({ probe, region, key, ...progressToRow(initialProbeProgress) })
        .onConflict((conflict) =>
          conflict.columns(["probe", "region", "key"]).doUpdateSet({ probe }),
        )
        .returning("id")
        .executeTakeFirstOrThrow();
      return { id, subject, progress: initialProbeProgress, flaps: [] };
    },

    /** Deletes one that has no open incidents, with its results. */
    remove: (id: number): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        await trx.deleteFrom("probe_results").where("probe_id", "=", id).execute();
        await trx.deleteFrom("probe_flap_records").where("probe_id", "=", id).execute();
        await trx.deleteFrom("probes").where("id", "=", id).execute();
      }),

    /**
     * A run: its result, its incidents and their notifications. They are written in one transaction: a crash between them
     * would either lose the alert or send it twice.
     */
    commitRun: (id: number, { progress, result, incidents }: ProbeVerdict): Promise<void> =>
      commits.add({
        owner: ownerOf(id),
        rows: 2 + incidentRows(incidents),
        async write(trx) {
          const row = progressToRow(progress);
          await trx.updateTable("probes").set(row).where("id", "=", id).execute();
          if (result) await writeResult(trx, id, progress.attempted.polls, result);
        },
        writeNumbered: (trx) => writeOutcome(trx, id, incidents),
      }),

    /** What a changed configuration does to a probe's incidents, outside any run. */
    commitRetired: (id: number, incidents: IncidentOutcome): Promise<void> =>
      commits.add({
        owner: ownerOf(id),
        rows: incidentRows(incidents),
        writeNumbered: (trx) => writeOutcome(trx, id, incidents),
      }),

    /** The latest results of a probe, latest first. */
    async results(id: number, limit: number): Promise<readonly ProbeResult[]> {
      const rows = await selectResults(reader)
        .where("probe_id", "=", id)
        .orderBy("run", "desc")
        .limit(limit)
        .execute();
      return reading.all("probe_results", rows, readResult);
    },
  };
}

/** No target has this owner. */
function ownerOf(id: number): string {
  return `probe ${id}`;
}

async function writeResult(
  trx: Db,
  id: number,
  run: number,
  { atMs, reason, detail, durationMs }: ProbeResult,
): Promise<void> {
  await trx
    .insertInto("probe_results")
    .values({
      probe_id: id,
      run,
      at_ms: atMs,
      reason,
      detail: storableText(detail),
      duration_ms: durationMs,
    })
    .execute();
  await trx
    .deleteFrom("probe_results")
    .where("probe_id", "=", id)
    .where("run", "<=", run - keptResults)
    .execute();
}

async function writeOutcome(trx: Db, id: number, incidents: IncidentOutcome): Promise<void> {
  await writeIncidents(trx, null, incidents);
  await writeProbeFlaps(trx, id, incidents.flaps);
}

function progressToRow(
  progress: ProbeProgress,
): Omit<Insertable<Tables["probes"]>, "id" | "probe" | "region" | "key"> {
  return {
    attempted_runs: progress.attempted.polls,
    attempted_ms: progress.attempted.ms,
    failures_in_a_row: progress.failuresInARow,
    last_success_at_ms: progress.lastSuccessAtMs,
  };
}

function selectResults(reader: Db) {
  return reader
    .selectFrom("probe_results")
    .select(["probe_id as probeId", "run", "at_ms as atMs", "reason", "detail"])
    .select("duration_ms as durationMs");
}

function readResult(row: InferResult<ReturnType<typeof selectResults>>[number]): ProbeResult {
  const { atMs, reason, detail, durationMs } = row;
  return { atMs, reason: reason && oneOf(probeFailures, reason), detail, durationMs };
}

async function readAll(reader: Db, reading: RowReading): Promise<readonly StoredProbe[]> {
  const probes = await reader.selectFrom("probes").selectAll().orderBy("id").execute();
  const flaps = await reader.selectFrom("probe_flap_records").selectAll().execute();
  const latest = await selectResults(reader)
    .where(
      sql<boolean>`run = (select max(run) from probe_results as other where other.probe_id = probe_results.probe_id)`,
    )
    .execute();
  const latestOf = new Map(latest.map((row) => [row.probeId, row]));
  const flapsOf = Map.groupBy(flaps, (row) => row.probe_id);
  return probes.map((row) => {
    const { id, probe, region, key } = row;
    const subject: ProbeSubject = { kind: "probe", probe, region, key };
    const result = latestOf.get(id);
    const last =
      result?.run === row.attempted_runs ? reading.read("probe_results", result, readResult) : null;
    const progress = reading.read("probes", row, () => ({
      attempted: { polls: row.attempted_runs, ms: row.attempted_ms },
      failuresInARow: row.failures_in_a_row,
      lastSuccessAtMs: row.last_success_at_ms,
      last,
    }));
    // The next result has the number behind the latest one.
    const attempted = { polls: result?.run ?? 0, ms: 0 };
    return {
      id,
      subject,
      progress: progress ?? { ...initialProbeProgress, attempted },
      flaps: reading.all("probe_flap_records", flapsOf.get(id) ?? [], (flap) =>
        flapFromColumns(flap, subject),
      ),
    };
  });
}
