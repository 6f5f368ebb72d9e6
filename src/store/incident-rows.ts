import type { Insertable, Selectable } from "kysely";
import { placeOf } from "../core/incident.ts";
import type { Incident, Subject } from "../core/incident.ts";
import type { IncidentPhase } from "../core/incident-phase.ts";
import { presences } from "../core/model.ts";
import { resolvedReasons, subjectKinds } from "../core/notification.ts";
import { severities } from "../core/rule.ts";
import { oneOf } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import { readNames } from "./target-rows.ts";
import type { IncidentsTable } from "./tables.ts";

const phases = ["pending", "firing", "resolved"] as const;

type IncidentRow = Omit<Selectable<IncidentsTable>, "revision">;

/** @param targetId whose incident it is; null for one of a pool, a probe or a receiver */
export function incidentToRow(
  targetId: number | null,
  incident: Incident,
): Omit<Insertable<IncidentsTable>, "revision"> {
  const { subject, phase } = incident;
  const server = subject.kind === "server" ? subject : null;
  const pool = subject.kind === "pool" ? subject : null;
  const placed = placeOf(null, subject);
  const held = phase.name === "resolved" ? { ms: 0, polls: 0 } : phase.heldSince;
  return {
    id: incident.id,
    rule: incident.rule,
    rule_fingerprint: incident.ruleFingerprint,
    severity: incident.severity,
    receivers: JSON.stringify(incident.receivers),
    subject: subject.kind,
    target_id: targetId,
    sandbox_id: server?.sandboxId ?? null,
    server_id: server?.serverId ?? null,
    server_name: (pool ?? server)?.serverName ?? null,
    region: placed?.region ?? null,
    key: placed?.key ?? null,
    probe: subject.kind === "probe" ? subject.probe : null,
    receiver: subject.kind === "receiver" ? subject.receiver : null,
    status: incident.status,
    previous_status: incident.previousStatus,
    phase: phase.name,
    held_since_ms: held.ms,
    held_since_polls: held.polls,
    clear_since_ms: phase.name === "firing" ? phase.clearSinceMs : null,
    notified_at_clock_ms: phase.name === "firing" ? phase.toldAtMs : null,
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
        toldAtMs: row.notified_at_clock_ms,
        flapping: row.flapping === 1,
      };
    case "resolved":
      return {
        name: "resolved",
        reason: oneOf(resolvedReasons, row.resolved_reason ?? "recovered"),
      };
  }
}
