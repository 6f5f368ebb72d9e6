import type { Insertable, Kysely, Selectable } from "kysely";
import { subjectFacts } from "../alerts/incident.ts";
import type { Incident, Subject } from "../alerts/incident.ts";
import type { IncidentPhase } from "../alerts/incident-phase.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import { presences } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { resolvedReasons, subjectKinds } from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { batches, paced } from "../lib/paced.ts";
import { takeSequence } from "./commit-sequence.ts";
import { writeFlaps } from "./flap-rows.ts";
import { insertOutboxItems } from "./outbox-items.ts";
import { prepareUpsert } from "./prepared.ts";
import { oneOf } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import { readNames } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

const phases = ["pending", "firing", "resolved"] as const;

type IncidentRow = Omit<Selectable<Tables["incidents"]>, "revision">;

/** @param targetId whose incident it is; null for one of a pool, a probe or a receiver */
export function incidentToRow(
  targetId: number | null,
  incident: Incident,
): Omit<Insertable<Tables["incidents"]>, "revision"> {
  const { subject, phase } = incident;
  const facts = subjectFacts(null, subject);
  const held = phase.name === "resolved" ? { ms: 0, polls: 0 } : phase.heldSince;
  return {
    id: incident.id,
    rule: incident.rule,
    rule_fingerprint: incident.ruleFingerprint,
    severity: incident.severity,
    receivers: JSON.stringify(incident.receivers),
    subject: subject.kind,
    target_id: targetId,
    sandbox_id: facts.sandboxId,
    server_id: facts.serverId,
    server_name: facts.serverName,
    region: facts.region,
    key: facts.key,
    probe: facts.probe,
    receiver: facts.receiver,
    status: incident.status,
    previous_status: incident.previousStatus,
    phase: phase.name,
    held_since_ms: held.ms,
    held_since_polls: held.polls,
    clear_since_ms: phase.name === "firing" ? phase.clearSinceMs : null,
    notified_at_clock_ms: phase.name === "firing" ? phase.notifiedAtMs : null,
    flapping: Number(phase.name === "firing" && phase.flapping),
    started_at_ms: incident.startedAtMs,
    fired_at_ms: incident.firedAtMs,
    resolved_at_ms: incident.resolvedAtMs,
    resolved_reason: phase.name === "resolved" ? phase.reason : null,
  };
}

/** @throws when the row cannot be read */
export function incidentFromRow(row: IncidentRow): Incident {
  return {
    id: row.id,
    rule: row.rule,
    ruleFingerprint: row.rule_fingerprint,
    severity: oneOf(severities, row.severity),
    receivers: readNames(row.receivers),
    subject: subjectFromRow(row),
    phase: phaseFromRow(row),
    status: row.status && oneOf(presences, row.status),
    previousStatus: row.previous_status && oneOf(presences, row.previous_status),
    startedAtMs: row.started_at_ms,
    firedAtMs: row.fired_at_ms,
    resolvedAtMs: row.resolved_at_ms,
  };
}

/** Those that can be read. */
export function readIncidents(
  reading: RowReading,
  rows: readonly IncidentRow[],
): readonly Incident[] {
  return reading.all("incidents", rows, ({ id }) => id, incidentFromRow);
}

function subjectFromRow(row: IncidentRow): Subject {
  const kind = oneOf(subjectKinds, row.subject);
  if (kind === "pool") {
    const { region, key, server_name: serverName } = row;
    return { kind: "pool", region, key, serverName };
  }
  if (kind === "probe") {
    const { region, key, probe } = row;
    return { kind: "probe", probe: probe ?? "", region: region ?? "", key: key ?? "" };
  }
  if (kind === "receiver") return { kind: "receiver", receiver: row.receiver ?? "" };
  if (kind === "target" || row.sandbox_id === null || row.server_id === null) {
    return { kind: "target" };
  }
  return {
    kind: "server",
    sandboxId: row.sandbox_id,
    serverId: row.server_id,
    serverName: row.server_name,
  };
}

function phaseFromRow(row: IncidentRow): IncidentPhase {
  const heldSince = { ms: row.held_since_ms, polls: row.held_since_polls };
  switch (oneOf(phases, row.phase)) {
    case "pending":
      return { name: "pending", heldSince };
    case "firing":
      return {
        name: "firing",
        heldSince,
        clearSinceMs: row.clear_since_ms,
        notifiedAtMs: row.notified_at_clock_ms,
        flapping: row.flapping === 1,
      };
    case "resolved":
      return {
        name: "resolved",
        reason: oneOf(resolvedReasons, row.resolved_reason ?? "recovered"),
      };
  }
}

/** Incidents, each with whose it is and what was said of it. */
export function selectJoinedIncidents(reader: Kysely<Tables>) {
  return reader
    .selectFrom("incidents")
    .leftJoin("targets", "targets.id", "incidents.target_id")
    .leftJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
    .selectAll("incidents")
    .select([
      "targets.region as target_region",
      "targets.key as target_key",
      "acknowledgements.author as ack_author",
      "acknowledgements.note as ack_note",
      "acknowledgements.at_ms as ack_at_ms",
    ]);
}

/** @returns null for an incident of a pool or a receiver */
export function targetOf({
  target_region: region,
  target_key: key,
}: {
  readonly target_region: string | null;
  readonly target_key: string | null;
}): Target | null {
  return region === null || key === null ? null : { region, key };
}

/** About how many rows an outcome writes. */
export function incidentRows({ written, dropped, flaps, outbox }: IncidentOutcome): number {
  return written.length + dropped.length + flaps.length + outbox.length;
}

export function isUneventful(incidents: IncidentOutcome): boolean {
  return incidentRows(incidents) === 0;
}

const idsPerStatement = 500;

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
    "region",
    "key",
    "probe",
    "receiver",
    "started_at_ms",
  ],
);

// The outbox rows must be written in the same transaction as the incidents that cause them:
// a crash between the two would either lose the alert or send it twice.
export async function writeIncidents(
  trx: Kysely<Tables>,
  targetId: number | null,
  incidents: IncidentOutcome,
): Promise<void> {
  if (isUneventful(incidents)) return;
  const { written, dropped, flaps, outbox } = incidents;
  const revision = written.length > 0 ? await takeSequence(trx, 1) : 0;
  await upsertIncidents(
    trx,
    written.values().map((incident) => ({ ...incidentToRow(targetId, incident), revision })),
  );
  for await (const some of paced(batches(dropped, idsPerStatement))) {
    const ids = some.map(({ id }) => id);
    await trx.deleteFrom("incidents").where("id", "in", ids).execute();
  }
  if (targetId !== null) await writeFlaps(trx, targetId, flaps);
  await insertOutboxItems(trx, outbox);
}
