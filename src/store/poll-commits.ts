import type { Insertable, Kysely, Transaction } from "kysely";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { Verdict } from "../core/judge.ts";
import type { SnapshotDelta } from "../core/snapshot.ts";
import { inChunks } from "./in-chunks.ts";
import { incidentToRow } from "./incident-rows.ts";
import { insertOutboxItems } from "./outbox.ts";
import { progressToRow, sandboxToRow, serverToRow } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

/** Writes what a poll decided, all of it or nothing. */
export interface PollCommits {
  /** A poll that changed nothing writes one row. */
  commitPoll(targetId: number, verdict: Verdict): Promise<void>;
  /** What a changed configuration does to incidents, outside any poll. */
  commitIncidents(targetId: number, incidents: IncidentOutcome): Promise<void>;
}

/** SQLite takes up to 32,766 parameters a statement; a fixed chunk keeps statements reusable. */
const rowsPerStatement = 100;

export function createPollCommits(kysely: Kysely<Tables>): PollCommits {
  return {
    commitPoll: (targetId, verdict) =>
      kysely.transaction().execute(async (trx) => {
        await trx
          .updateTable("targets")
          .set(progressToRow(verdict.progress))
          .where("id", "=", targetId)
          .execute();
        await writeDelta(trx, targetId, verdict.delta);
        for (const chunk of inChunks(changeRows(targetId, verdict), rowsPerStatement)) {
          await trx.insertInto("changes").values(chunk).execute();
        }
        await writeIncidents(trx, targetId, verdict.incidents);
      }),
    commitIncidents: (targetId, incidents) =>
      kysely.transaction().execute((trx) => writeIncidents(trx, targetId, incidents)),
  };
}

async function writeDelta(
  trx: Transaction<Tables>,
  targetId: number,
  delta: SnapshotDelta,
): Promise<void> {
  const sandboxes = delta.sandboxes.map((row) => sandboxToRow(targetId, row));
  for (const chunk of inChunks(sandboxes, rowsPerStatement)) {
    await trx
      .insertInto("sandboxes")
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(["target_id", "sandbox_id"]).doUpdateSet((row) => ({
          status: row.ref("excluded.status"),
          benchmark: row.ref("excluded.benchmark"),
          missing: row.ref("excluded.missing"),
        })),
      )
      .execute();
  }
  const servers = delta.servers.map((row) => serverToRow(targetId, row));
  for (const chunk of inChunks(servers, rowsPerStatement)) {
    await trx
      .insertInto("servers")
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(["target_id", "sandbox_id", "server_id"]).doUpdateSet((row) => ({
          server_name: row.ref("excluded.server_name"),
          benchmark: row.ref("excluded.benchmark"),
          tags: row.ref("excluded.tags"),
          status: row.ref("excluded.status"),
          since_at_ms: row.ref("excluded.since_at_ms"),
          since_observed_ms: row.ref("excluded.since_observed_ms"),
          since_witnessed: row.ref("excluded.since_witnessed"),
          missing: row.ref("excluded.missing"),
        })),
      )
      .execute();
  }
  for (const { sandboxId, serverId } of delta.removedServers) {
    await trx
      .deleteFrom("servers")
      .where("target_id", "=", targetId)
      .where("sandbox_id", "=", sandboxId)
      .where("server_id", "=", serverId)
      .execute();
  }
  for (const sandboxId of delta.removedSandboxes) {
    await trx
      .deleteFrom("sandboxes")
      .where("target_id", "=", targetId)
      .where("sandbox_id", "=", sandboxId)
      .execute();
  }
}

function changeRows(targetId: number, { at, changes }: Verdict): Insertable<Tables["changes"]>[] {
  return changes.map((change) => ({
    target_id: targetId,
    at_ms: at.utcMs,
    sandbox_id: change.sandboxId,
    server_id: change.serverId,
    server_name: change.serverName,
    from_status: change.from,
    to_status: change.to,
  }));
}

// The outbox rows must be written in the same transaction as the incidents that cause them:
// a crash between the two would either lose the alert or send it twice.
async function writeIncidents(
  trx: Transaction<Tables>,
  targetId: number,
  { written, dropped, outbox }: IncidentOutcome,
): Promise<void> {
  for (const incident of written) {
    const row = incidentToRow(targetId, incident);
    await trx
      .insertInto("incidents")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
      .execute();
  }
  for (const { id } of dropped) {
    await trx.deleteFrom("incidents").where("id", "=", id).execute();
  }
  await insertOutboxItems(trx, outbox);
}
