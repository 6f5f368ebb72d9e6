import type { Kysely, Selectable, Transaction } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { ProbeSubject } from "../alerts/incident.ts";
import type { ProbeVerdict } from "../alerts/judge-probe.ts";
import { initialProbeProgress, probeFailures } from "../alerts/probe.ts";
import type { ProbeProgress, ProbeResult } from "../alerts/probe.ts";
import { readNumbers } from "./flap-rows.ts";
import { incidentRows, writeIncidents } from "./incident-rows.ts";
import { prepareUpsert } from "./prepared.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import { storableText } from "./storable-text.ts";
import type { SharedCommits } from "./shared-commits.ts";
import type { Tables } from "./tables.ts";

/** A probe in a region with a key as the store knows it. */
export interface StoredProbe {
  readonly id: number;
  readonly subject: ProbeSubject;
  readonly progress: ProbeProgress;
  readonly flaps: readonly FlapRecord[];
}

export interface StoredProbes {
  /** All that were ever run and not removed. */
  all(): Promise<readonly StoredProbe[]>;
  add(subject: ProbeSubject): Promise<StoredProbe>;
  /** Forgets one that has no open incidents, with its results. */
  remove(id: number): Promise<void>;
  /** A run: its result, what it means for the probe's incidents, and what must be told of that. */
  commitRun(id: number, verdict: ProbeVerdict): Promise<void>;
  /** What a changed configuration does to a probe's incidents, outside any run. */
  commitRetired(id: number, incidents: IncidentOutcome): Promise<void>;
  /** The latest results of a probe, latest first. */
  results(id: number, limit: number): Promise<readonly ProbeResult[]>;
}

/** So many results of a probe in a region with a key are kept. */
export const keptResults = 1_000;

export function createStoredProbes(
  kysely: Kysely<Tables>,
  reader: Kysely<Tables>,
  commits: SharedCommits,
  reading = createRowReading(),
): StoredProbes {
  return {
    async all() {
      const probes = await kysely.selectFrom("probes").selectAll().orderBy("id").execute();
      const latest = await kysely
        .selectFrom("probe_results")
        .selectAll()
        .where((eb) =>
          eb(
            "run",
            "=",
            eb
              .selectFrom("probe_results as other")
              .select(({ fn }) => fn.max("other.run").as("run"))
              .whereRef("other.probe_id", "=", "probe_results.probe_id"),
          ),
        )
        .execute();
      const flaps = await kysely.selectFrom("probe_flap_records").selectAll().execute();
      const latestOf = new Map(latest.map((row) => [row.probe_id, row]));
      const flapsByProbe = Map.groupBy(flaps, (row) => row.probe_id);
      return probes.map((row) => {
        const { id } = row;
        const subject = subjectOf(row);
        const result = latestOf.get(id);
        const last =
          result?.run === row.attempted_runs
            ? reading.read("probe_results", `${id} ${result.run}`, result, resultOf)
            : null;
        const progress = reading.read("probes", id, row, () => progressOf(row, last));
        // The next result has the number behind the latest one.
        const attempted = { polls: result?.run ?? 0, ms: 0 };
        return {
          id,
          subject,
          progress: progress ?? { ...initialProbeProgress, attempted },
          flaps: reading.all("probe_flap_records", flapsByProbe.get(id) ?? [], flapId, (each) =>
            flapOf(subject, each),
          ),
        };
      });
    },
    async add(subject) {
      const { probe, region, key } = subject;
      const progress = progressToRow(initialProbeProgress);
      const { id } = await kysely
        .insertInto("probes")
        .values({ probe, region, key, ...progress })
        .returning("id")
        .executeTakeFirstOrThrow();
      return { id, subject, progress: initialProbeProgress, flaps: [] };
    },
    remove: (id) =>
      kysely.transaction().execute(async (trx) => {
        await trx.deleteFrom("probe_results").where("probe_id", "=", id).execute();
        await trx.deleteFrom("probe_flap_records").where("probe_id", "=", id).execute();
        await trx.deleteFrom("probes").where("id", "=", id).execute();
      }),
    // The result must be written in the same transaction as what it causes: a crash between the two
    // would either lose the alert or send it twice.
    commitRun: (id, { progress, result, incidents }) =>
      commits.add({
        owner: ownerOf(id),
        rows: 2 + incidentRows(incidents),
        isPatient: incidentRows(incidents) === 0,
        async write(trx) {
          const row = progressToRow(progress);
          await trx.updateTable("probes").set(row).where("id", "=", id).execute();
          if (result) await writeResult(trx, id, progress.attempted.polls, result);
          await writeIncidents(trx, null, incidents);
          for (const record of incidents.flaps) await writeFlap(trx, id, record);
          return null;
        },
      }),
    commitRetired: (id, incidents) =>
      commits.add({
        owner: ownerOf(id),
        rows: incidentRows(incidents),
        isPatient: false,
        async write(trx) {
          await writeIncidents(trx, null, incidents);
          for (const record of incidents.flaps) await writeFlap(trx, id, record);
          return null;
        },
      }),
    async results(id, limit) {
      const rows = await reader
        .selectFrom("probe_results")
        .selectAll()
        .where("probe_id", "=", id)
        .orderBy("run", "desc")
        .limit(limit)
        .execute();
      return reading.all("probe_results", rows, (row) => `${id} ${row.run}`, resultOf);
    },
  };
}

/** As parts of shared transactions are told apart: other than any target. */
function ownerOf(id: number): string {
  return `probe ${id}`;
}

async function writeResult(
  trx: Transaction<Tables>,
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

const upsertFlaps = prepareUpsert("probe_flap_records", ["probe_id", "rule"]);

async function writeFlap(
  trx: Transaction<Tables>,
  id: number,
  { rule, ruleFingerprint, enteredMs }: FlapRecord,
): Promise<void> {
  if (enteredMs.length === 0) {
    await trx
      .deleteFrom("probe_flap_records")
      .where("probe_id", "=", id)
      .where("rule", "=", rule)
      .execute();
    return;
  }
  const entered = JSON.stringify(enteredMs);
  await upsertFlaps(trx, [{ probe_id: id, rule, rule_fingerprint: ruleFingerprint, entered }]);
}

type ProgressColumns = Omit<Selectable<Tables["probes"]>, "id" | "probe" | "region" | "key">;

function progressToRow(progress: ProbeProgress): ProgressColumns {
  return {
    attempted_runs: progress.attempted.polls,
    attempted_ms: progress.attempted.ms,
    failures_in_a_row: progress.failuresInARow,
    last_success_at_ms: progress.lastSuccessAtMs,
  };
}

function progressOf(row: ProgressColumns, last: ProbeResult | null): ProbeProgress {
  return {
    attempted: { polls: row.attempted_runs, ms: row.attempted_ms },
    failuresInARow: row.failures_in_a_row,
    lastSuccessAtMs: row.last_success_at_ms,
    last,
  };
}

function subjectOf({ probe, region, key }: Selectable<Tables["probes"]>): ProbeSubject {
  return { kind: "probe", probe, region, key };
}

/** @throws when its reason is not known */
function resultOf(row: Selectable<Tables["probe_results"]>): ProbeResult {
  return {
    atMs: row.at_ms,
    reason: row.reason && oneOf(probeFailures, row.reason),
    detail: row.detail,
    durationMs: row.duration_ms,
  };
}

function flapId(row: Selectable<Tables["probe_flap_records"]>): string {
  return `${row.probe_id} ${row.rule}`;
}

function flapOf(subject: ProbeSubject, row: Selectable<Tables["probe_flap_records"]>): FlapRecord {
  return {
    rule: row.rule,
    ruleFingerprint: row.rule_fingerprint,
    subject,
    enteredMs: readNumbers(row.entered),
  };
}
