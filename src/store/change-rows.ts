import type { Kysely } from "kysely";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { Diff, ServerDiff } from "../fleet/diff.ts";
import { batches, paced } from "../lib/paced.ts";
import { takeSequence } from "./commit-sequence.ts";
import { prepareRows } from "./prepared.ts";
import type { Tables } from "./tables.ts";

/** What one poll of a target showed. */
export interface PollChanges {
  /** UTC milliseconds. */
  readonly atMs: number;
  readonly diff: Pick<Diff, "changes" | "gaps">;
}

const rowsPerInsert = 50;

/**
 * Within the transaction of the poll, after its servers were written: each change refers to its server's row, which the
 * statement looks up, so that no map of row ids has to be kept.
 *
 * @param polls in their order
 */
export async function writeChanges(
  trx: Kysely<Tables>,
  targetId: number,
  polls: readonly PollChanges[],
): Promise<void> {
  const count = polls.reduce((sum, { diff }) => sum + diff.changes.length + diff.gaps.length, 0);
  if (count === 0) return;
  const firstSeq = (await takeSequence(trx, count)) - count + 1;
  for await (const rows of paced(batches(toRows(targetId, polls, firstSeq), rowsPerInsert))) {
    await insertChanges(trx, rows);
  }
}

interface ChangeRow {
  readonly seq: number;
  readonly atMs: number;
  readonly targetId: number;
  readonly diff: ServerDiff;
}

function* toRows(
  targetId: number,
  polls: readonly PollChanges[],
  firstSeq: number,
): Iterable<ChangeRow> {
  let seq = firstSeq;
  for (const { atMs, diff } of polls) {
    for (const each of diff.changes) yield { seq: seq++, atMs, targetId, diff: each };
    for (const each of diff.gaps) yield { seq: seq++, atMs, targetId, diff: each };
  }
}

const insertChanges = prepareRows(
  (db, rows: readonly ChangeRow[]) =>
    db.insertInto("changes").values((eb) =>
      rows.map(({ seq, atMs, targetId, diff }) => ({
        seq,
        at_ms: atMs,
        server: eb
          .selectFrom("servers")
          .select("servers.id")
          .where("target_id", "=", targetId)
          .where("sandbox_id", "=", diff.sandboxId)
          .where("server_id", "=", serverIdOf(diff)),
        from_status: statusBefore(diff),
        to_status: statusAfter(diff),
        dwell_ms: diff.dwellMs,
        observation: observationOf(diff),
      })),
    ),
  ({ seq, atMs, targetId, diff }) => [
    seq,
    atMs,
    targetId,
    diff.sandboxId,
    serverIdOf(diff),
    statusBefore(diff),
    statusAfter(diff),
    diff.dwellMs,
    observationOf(diff),
  ],
);

function serverIdOf({ before, after }: ServerDiff): string {
  return (after ?? before)?.id ?? "";
}

function observationOf({ kind }: ServerDiff): "missing" | "seen" | null {
  return kind === "missing" || kind === "seen" ? kind : null;
}
