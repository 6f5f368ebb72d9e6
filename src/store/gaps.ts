import { sql } from "kysely";
import type { Verdict } from "../alerts/judge.ts";
import type { Gap, GapReason } from "../fleet/recorded-time.ts";
import { deleteSome, prepareUpsert } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

export interface StoredGap extends Gap {
  readonly reason: GapReason;
}

const upsertGaps = prepareUpsert("gaps", ["target_id", "from_at_ms"]);

/** Within the transaction of the polls that found them. */
export async function writeGaps(
  trx: Db,
  targetId: number,
  polls: readonly Pick<Verdict, "gap">[],
): Promise<void> {
  for (const { gap } of polls) {
    // None is open when another one begins, unless the row of its target could not be read.
    const closedAtMs = gap.closedAtMs ?? gap.opened?.fromMs ?? null;
    if (closedAtMs !== null) {
      await trx
        .updateTable("gaps")
        .set({ to_at_ms: closedAtMs })
        .where("target_id", "=", targetId)
        .where("to_at_ms", "is", null)
        .execute();
    }
    if (gap.opened) {
      const { fromMs, toMs, reason } = gap.opened;
      const row = { target_id: targetId, from_at_ms: fromMs, to_at_ms: toMs, reason };
      await upsertGaps(trx, [row]);
    }
  }
}

/** Those of some targets that overlap a range, clipped to it, by target in order. */
export async function readGapsOf(
  reader: Db,
  targetIds: readonly number[],
  { fromMs, toMs }: Gap,
): Promise<ReadonlyMap<number, readonly StoredGap[]>> {
  if (targetIds.length === 0) return new Map();
  const rows = await reader
    .selectFrom("gaps")
    .selectAll()
    .where("target_id", "in", targetIds)
    .where("from_at_ms", "<", toMs)
    .where((eb) => eb.or([eb("to_at_ms", ">", fromMs), eb("to_at_ms", "is", null)]))
    // One that was closed while the wall clock stood behind its beginning has no length.
    .where((eb) => eb.or([eb("to_at_ms", ">", eb.ref("from_at_ms")), eb("to_at_ms", "is", null)]))
    .orderBy("target_id")
    .orderBy("from_at_ms")
    .execute();
  const gaps = new Map<number, StoredGap[]>();
  for (const { target_id: id, from_at_ms: startMs, to_at_ms: endMs, reason } of rows) {
    const gap = {
      fromMs: Math.max(startMs, fromMs),
      toMs: Math.min(endMs ?? toMs, toMs),
      reason,
    };
    const known = gaps.get(id);
    if (known) known.push(gap);
    else gaps.set(id, [gap]);
  }
  return gaps;
}

/** Deletes those that ended before and are rolled up. @returns whether there may be more */
export function pruneGaps(kysely: Db, beforeMs: number): Promise<boolean> {
  const isOld = sql`to_at_ms < ${beforeMs}
    and to_at_ms <= (select rolled_up_to_ms from targets where id = gaps.target_id)`;
  return deleteSome(kysely, "gaps", ["target_id", "from_at_ms"], isOld);
}
