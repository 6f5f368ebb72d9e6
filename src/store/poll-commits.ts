import type { Kysely, Transaction } from "kysely";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { Verdict } from "../core/judge.ts";
import type { PoolOutcome } from "../core/pool-watch.ts";
import type { Change, Changes } from "../core/snapshot/sighting.ts";
import { writeFlaps } from "./flap-rows.ts";
import { incidentToRow } from "./incident-rows.ts";
import { insertOutboxItems } from "./outbox.ts";
import { batches, paced } from "../platform/paced.ts";
import type { SnapshotPages } from "./snapshot-pages.ts";
import { progressToRow } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

/** Writes what a poll decided, all of it or nothing. */
export interface PollCommits {
  /** A poll that changed nothing writes one row. */
  commitPoll(targetId: number, verdict: Verdict): Promise<void>;
  /**
   * What a changed configuration does to incidents, outside any poll.
   *
   * @param targetId whose they are; null: those of pools or receivers
   */
  commitIncidents(targetId: number | null, incidents: IncidentOutcome): Promise<void>;
}

const changesPerRow = 500;
const incidentsAtOnce = 20;

export function createPollCommits(kysely: Kysely<Tables>, pages: SnapshotPages): PollCommits {
  return {
    async commitPoll(targetId, verdict) {
      const pagesCommitted = await kysely.transaction().execute(async (trx) => {
        await trx
          .updateTable("targets")
          .set(progressToRow(verdict.progress))
          .where("id", "=", targetId)
          .execute();
        const written = verdict.pages && (await pages.write(trx, targetId, verdict.pages));
        await writeChanges(trx, targetId, verdict.at.utcMs, verdict.changes);
        await writeIncidents(trx, targetId, verdict.incidents);
        if (verdict.pools) await writePools(trx, verdict.pools);
        return written;
      });
      pagesCommitted?.();
    },
    commitIncidents: (targetId, incidents) =>
      kysely.transaction().execute((trx) => writeIncidents(trx, targetId, incidents)),
  };
}

async function writeChanges(
  trx: Transaction<Tables>,
  targetId: number,
  atMs: number,
  changes: Changes,
): Promise<void> {
  for await (const some of paced(batches(changes, changesPerRow))) {
    const body = JSON.stringify(some.map(fieldsOf));
    await trx
      .insertInto("changes")
      .values({ target_id: targetId, at_ms: atMs, change_count: some.length, body })
      .execute();
  }
}

function fieldsOf({ sandboxId, serverId, serverName, from, to }: Change): (string | null)[] {
  return [sandboxId, serverId, serverName, from, to];
}

async function writePools(
  trx: Transaction<Tables>,
  { incidents, clocks }: PoolOutcome,
): Promise<void> {
  for (const { rule, scope, ms } of clocks) {
    await trx
      .insertInto("pool_clocks")
      .values({ rule, scope, ms })
      .onConflict((conflict) => conflict.doUpdateSet({ ms }))
      .execute();
  }
  await writeIncidents(trx, null, incidents);
}

// The outbox rows must be written in the same transaction as the incidents that cause them:
// a crash between the two would either lose the alert or send it twice.
async function writeIncidents(
  trx: Transaction<Tables>,
  targetId: number | null,
  { written, dropped, flaps, outbox }: IncidentOutcome,
): Promise<void> {
  for await (const incidents of paced(batches(written, incidentsAtOnce))) {
    await trx
      .insertInto("incidents")
      .values(incidents.map((incident) => incidentToRow(targetId, incident)))
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet((row) => ({
          severity: row.ref("excluded.severity"),
          receivers: row.ref("excluded.receivers"),
          status: row.ref("excluded.status"),
          previous_status: row.ref("excluded.previous_status"),
          phase: row.ref("excluded.phase"),
          held_since_ms: row.ref("excluded.held_since_ms"),
          held_since_polls: row.ref("excluded.held_since_polls"),
          clear_since_ms: row.ref("excluded.clear_since_ms"),
          told_at_clock_ms: row.ref("excluded.told_at_clock_ms"),
          flapping: row.ref("excluded.flapping"),
          fired_at_ms: row.ref("excluded.fired_at_ms"),
          resolved_at_ms: row.ref("excluded.resolved_at_ms"),
          resolved_reason: row.ref("excluded.resolved_reason"),
        })),
      )
      .execute();
  }
  for await (const incidents of paced(batches(dropped, incidentsAtOnce))) {
    const ids = incidents.map(({ id }) => id);
    await trx.deleteFrom("incidents").where("id", "in", ids).execute();
  }
  if (targetId !== null) await writeFlaps(trx, targetId, flaps);
  await insertOutboxItems(trx, outbox);
}
