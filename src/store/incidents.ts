import { sql, type InferResult, type Insertable } from "kysely";
import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { IncidentPhase } from "../alerts/incident-phase.ts";
import { IdTakenError, subjectFacts, type Incident } from "../alerts/incident.ts";
import type { ReceiverState } from "../alerts/judge-receivers.ts";
import { resolvedReasons } from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { factsOfNames, namedFacts, subjectKinds, subjectOf } from "../alerts/subjects.ts";
import { presences, type Target } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import { writeFlaps } from "./flap-records.ts";
import { insertOutboxItems } from "./outbox-items.ts";
import { deleteRows, prepareUpsert, takeSequence } from "./sql-helpers.ts";
import { createRowReading, oneOf, textIn, type RowReading } from "./row-reading.ts";
import type { Db, Tables } from "./tables.ts";

/** Open and resolved ones, as {@link readIncidents} reads them. */
export function selectIncidents(reader: Db) {
  return reader.selectFrom("incidents").selectAll("incidents").select([receiversOf, owedOf]);
}

/** In one text, which costs less than a query of its own and shows the same moment. No name has a comma. */
const namesWhere = (notified: 0 | 1) => sql<string | null>`(
  select string_agg(receiver, ',') from incident_receivers
  where incident_id = incidents.id and notified = ${sql.lit(notified)}
)`;
const receiversOf = namesWhere(1).as("receivers");
const owedOf = namesWhere(0).as("owed");

type IncidentRow = Omit<InferResult<ReturnType<typeof selectIncidents>>[number], "revision">;

/** @param targetId whose incident it is; null for one of a pool, a probe or a receiver */
export function incidentToRow(
  targetId: number | null,
  incident: Incident,
): Omit<Insertable<Tables["incidents"]>, "revision"> {
  const { subject, phase } = incident;
  const held = phase.name === "resolved" ? { ms: 0, polls: 0 } : phase.heldSince;
  const firing = phase.name === "firing" ? phase : null;
  return {
    id: incident.id,
    rule: incident.rule,
    rule_fingerprint: incident.ruleFingerprint,
    severity: incident.severity,
    subject: subject.kind,
    target_id: targetId,
    ...namedFacts(subjectFacts(null, subject)),
    status: incident.status,
    previous_status: incident.previousStatus,
    phase: phase.name,
    held_since_ms: held.ms,
    held_since_polls: held.polls,
    clear_since_ms: firing?.clearSinceMs ?? null,
    notified_at_clock_ms: firing?.notifiedAtMs ?? null,
    flapping: Number(firing?.flapping ?? false),
    inhibited_by: incident.inhibitedBy,
    started_at_ms: incident.startedAtMs,
    fired_at_ms: incident.firedAtMs,
    resolved_at_ms: incident.resolvedAtMs,
    resolved_reason: phase.name === "resolved" ? phase.reason : null,
  };
}

export function incidentFromRow(row: IncidentRow): Incident {
  return {
    id: row.id,
    rule: row.rule,
    ruleFingerprint: row.rule_fingerprint,
    severity: oneOf(severities, row.severity),
    receivers: row.receivers?.split(",").toSorted() ?? [],
    owed: row.owed?.split(",").toSorted() ?? [],
    inhibitedBy: row.inhibited_by,
    subject: subjectOf(oneOf(subjectKinds, row.subject), factsOfNames(row)),
    phase: phaseFromRow(row),
    status: row.status && oneOf(presences, row.status),
    previousStatus: row.previous_status && oneOf(presences, row.previous_status),
    startedAtMs: row.started_at_ms,
    firedAtMs: row.fired_at_ms,
    resolvedAtMs: row.resolved_at_ms,
  };
}

function phaseFromRow(row: IncidentRow): IncidentPhase {
  const heldSince = { ms: row.held_since_ms, polls: row.held_since_polls };
  const name = oneOf(["pending", "firing", "resolved"], row.phase);
  switch (name) {
    case "pending":
      return { name, heldSince };
    case "firing":
      return {
        name,
        heldSince,
        clearSinceMs: row.clear_since_ms,
        notifiedAtMs: row.notified_at_clock_ms,
        flapping: row.flapping === 1,
      };
    case "resolved":
      return { name, reason: oneOf(resolvedReasons, textIn(row.resolved_reason)) };
  }
}

/** The incidents that can be read. */
export function readIncidents(
  reading: RowReading,
  rows: readonly IncidentRow[],
): readonly Incident[] {
  return reading.all("incidents", rows, incidentFromRow);
}

/** An incident with whose it is and whether it was acknowledged. */
export interface StoredIncident {
  readonly incident: Incident;
  /** Null for one of a pool, a probe or a receiver. */
  readonly target: Target | null;
  /** It may be over. */
  readonly acknowledgement: Acknowledgement | null;
}

/** The rows of {@link readStored}. */
export function selectStored(reader: Db) {
  return selectIncidents(reader)
    .leftJoin("targets", "targets.id", "incidents.target_id")
    .leftJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
    .select(["targets.region as target_region", "targets.key as target_key"])
    .select(["acknowledgements.author", "acknowledgements.note", "acknowledgements.at_ms"])
    .select(["acknowledgements.ends_at_ms", "acknowledgements.ended_by"]);
}

export type StoredRow = InferResult<ReturnType<typeof selectStored>>[number];

/** @returns null when the row cannot be read */
export function readStored(reading: RowReading, row: StoredRow): StoredIncident | null {
  const { id, target_region: region, target_key: key, author, note, at_ms: atMs } = row;
  return reading.read("incidents", row, () => ({
    incident: incidentFromRow(row),
    target: region === null || key === null ? null : { region, key },
    acknowledgement:
      author === null || atMs === null
        ? null
        : {
            incidentId: id,
            author,
            note,
            atMs,
            endsAtMs: row.ends_at_ms,
            endedBy: row.ended_by,
          },
  }));
}

/** About how many rows an outcome writes. */
export function incidentRows({ written, dropped, flaps, outbox }: IncidentOutcome): number {
  return written.length + dropped.length + flaps.length + outbox.length;
}

export const idsPerStatement = 500;

const upsertIncidents = prepareUpsert(
  "incidents",
  ["id"],
  // Indexes hold some of these: to write one again costs more than the row.
  [
    "rule",
    "rule_fingerprint",
    "subject",
    "target_id",
    "sandbox_id",
    "server_id",
    "server_name",
    "benchmark",
    "region",
    "key",
    "probe",
    "receiver",
    "started_at_ms",
  ],
  // Another incident has the id otherwise.
  ["rule", "started_at_ms"],
);

const upsertReceivers = prepareUpsert("incident_receivers", ["incident_id", "receiver"]);

// The outbox rows must be written in the same transaction as the incidents that cause them:
// a crash between the two would either lose the alert or send it twice.
export async function writeIncidents(
  trx: Db,
  targetId: number | null,
  { written, dropped, flaps, outbox }: IncidentOutcome,
): Promise<void> {
  if (written.length > 0) {
    const revision = await takeSequence(trx, 1);
    const rows = written.values().map((each) => ({ ...incidentToRow(targetId, each), revision }));
    if ((await upsertIncidents(trx, rows)) < written.length) throw new IdTakenError();
    const receivers = written
      .values()
      .flatMap(({ id, receivers: names, owed }) => [
        ...names.map((name) => ({ incident_id: id, receiver: name, notified: 1 })),
        ...owed.map((name) => ({ incident_id: id, receiver: name, notified: 0 })),
      ]);
    await upsertReceivers(trx, receivers);
  }
  for await (const some of paced(batches(dropped, idsPerStatement))) {
    const ids = some.map(({ id }) => id);
    await trx.deleteFrom("incidents").where("id", "in", ids).execute();
  }
  if (targetId !== null) await writeFlaps(trx, targetId, flaps);
  await insertOutboxItems(trx, outbox);
}

/** Incidents of pools, probes and receivers, which belong to no target. */
export function createIncidentsWithoutTarget(
  kysely: Db,
  reader = kysely,
  reading = createRowReading(),
) {
  return {
    /** The open ones, as they were last committed. */
    async open(): Promise<readonly Incident[]> {
      const rows = await selectIncidents(reader)
        .where("target_id", "is", null)
        .where("phase", "<>", "resolved")
        .execute();
      return readIncidents(reading, rows);
    },
    /** Judges each of the receivers that has an open incident; gives what was decided of them. */
    judgeReceivers: (
      judge: (state: ReceiverState) => IncidentOutcome,
    ): Promise<readonly IncidentOutcome[]> =>
      kysely.transaction().execute(async (trx) => {
        const failing = await trx
          .selectFrom("incidents")
          .select("receiver")
          .where("receiver", "is not", null)
          .where("phase", "<>", "resolved")
          .distinct()
          .execute();
        const outcomes: IncidentOutcome[] = [];
        for (const { receiver } of failing) {
          const outcome = judge(await readReceiver(trx, textIn(receiver), reading));
          await writeIncidents(trx, null, outcome);
          outcomes.push(outcome);
        }
        return outcomes;
      }),
  };
}

/** The state of a receiver, read within the transaction that changes it. */
export async function readReceiver(
  trx: Db,
  receiver: string,
  reading: RowReading,
): Promise<ReceiverState> {
  const open = await selectIncidents(trx)
    .where("receiver", "=", receiver)
    .where("phase", "<>", "resolved")
    .execute();
  const last = await trx
    .selectFrom("incidents")
    .select("started_at_ms")
    .where("receiver", "=", receiver)
    .where("phase", "=", "resolved")
    .orderBy("started_at_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  return {
    receiver,
    incident: readIncidents(reading, open)[0] ?? null,
    lastStartedAtMs: last?.started_at_ms ?? null,
  };
}

/** Lists of incidents that follow what is written show these again, as something about them changed. */
export async function touchIncidents(trx: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const revision = await takeSequence(trx, 1);
  for await (const some of paced(batches(ids, idsPerStatement))) {
    await trx.updateTable("incidents").set({ revision }).where("id", "in", some).execute();
  }
}

const prunedAtOnce = 100;

/**
 * Deletes incidents that were resolved before and have no notifications, with their acknowledgements.
 *
 * @returns whether there may be more
 */
export function pruneIncidents(kysely: Db, beforeMs: number): Promise<boolean> {
  return kysely.transaction().execute(async (trx) => {
    const rows = await trx
      .selectFrom("incidents")
      .select("id")
      .where("phase", "=", sql.lit("resolved"))
      .where("resolved_at_ms", "<", beforeMs)
      .where(sql<boolean>`not exists (select 1 from outbox_items where incident_id = incidents.id)`)
      .orderBy("resolved_at_ms")
      .limit(prunedAtOnce)
      .execute();
    if (rows.length === 0) return false;
    const ids = rows.map(({ id }) => id);
    await deleteIncidents(trx, ids);
    return rows.length === prunedAtOnce;
  });
}

/** Deletes incidents without items, with their acknowledgements. @returns how many rows */
export async function deleteIncidents(trx: Db, ids: readonly string[]): Promise<number> {
  const acknowledged = await deleteRows(trx, "acknowledgements", "incident_id", ids);
  return acknowledged + (await deleteRows(trx, "incidents", "id", ids));
}
