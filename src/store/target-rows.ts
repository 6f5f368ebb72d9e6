import type { Insertable, Selectable } from "kysely";
import type { SandboxRow, ServerRow } from "../core/snapshot.ts";
import type { TargetProgress } from "../core/target-state.ts";
import type { SandboxesTable, ServersTable, TargetsTable } from "./tables.ts";

type ProgressColumns = Omit<Insertable<TargetsTable>, "id" | "region" | "key">;

export function progressToRow(progress: TargetProgress): ProgressColumns {
  return {
    attempted_polls: progress.attempted.polls,
    attempted_ms: progress.attempted.ms,
    observed_polls: progress.observed.polls,
    observed_ms: progress.observed.ms,
    failures_in_a_row: progress.failuresInARow,
    last_failure: progress.lastFailure,
    last_poll_at_ms: progress.lastPollAtMs,
    last_success_at_ms: progress.lastSuccessAtMs,
    last_complete: Number(progress.lastComplete),
  };
}

export function progressFromRow(row: Selectable<TargetsTable>): TargetProgress {
  return {
    attempted: { polls: row.attempted_polls, ms: row.attempted_ms },
    observed: { polls: row.observed_polls, ms: row.observed_ms },
    failuresInARow: row.failures_in_a_row,
    lastFailure: row.last_failure,
    lastPollAtMs: row.last_poll_at_ms,
    lastSuccessAtMs: row.last_success_at_ms,
    lastComplete: row.last_complete === 1,
  };
}

export function sandboxToRow(targetId: number, sandbox: SandboxRow): Insertable<SandboxesTable> {
  return {
    target_id: targetId,
    sandbox_id: sandbox.sandboxId,
    status: sandbox.status,
    benchmark: sandbox.benchmark,
    missing: sandbox.missing,
  };
}

export function sandboxFromRow(row: Selectable<SandboxesTable>): SandboxRow {
  return {
    sandboxId: row.sandbox_id,
    status: row.status,
    benchmark: row.benchmark,
    missing: row.missing,
  };
}

export function serverToRow(targetId: number, server: ServerRow): Insertable<ServersTable> {
  return {
    target_id: targetId,
    sandbox_id: server.sandboxId,
    server_id: server.serverId,
    server_name: server.serverName,
    benchmark: server.benchmark,
    tags: JSON.stringify(server.tags),
    status: server.status,
    since_at_ms: server.sinceMs,
    since_observed_ms: server.sinceObservedMs,
    since_witnessed: Number(server.sinceWitnessed),
    missing: server.missing,
  };
}

export function serverFromRow(row: Selectable<ServersTable>): ServerRow {
  return {
    sandboxId: row.sandbox_id,
    serverId: row.server_id,
    serverName: row.server_name,
    benchmark: row.benchmark,
    tags: readNames(row.tags),
    status: row.status,
    sinceMs: row.since_at_ms,
    sinceObservedMs: row.since_observed_ms,
    sinceWitnessed: row.since_witnessed === 1,
    missing: row.missing,
  };
}

/** Reads a JSON array of strings. */
export function readNames(json: string): readonly string[] {
  const value: unknown = JSON.parse(json);
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
