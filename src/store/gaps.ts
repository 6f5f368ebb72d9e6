import type { Gap } from "../fleet/accounting.ts";
import type { Target } from "../fleet/model.ts";
import { prepareUpsert } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

export interface GapQuery extends Gap {
  readonly target: Target;
}

const gapsAtOnce = 500;

const upsertGaps = prepareUpsert("gaps", ["target_id", "from_at_ms"]);

/** Within the transaction of the poll that found it. Gaps of a target never overlap, though the clock is set back. */
export async function writeGap(trx: Db, targetId: number, gap: Gap): Promise<void> {
  const last = await trx
    .selectFrom("gaps")
    .select(["from_at_ms", "to_at_ms"])
    .where("target_id", "=", targetId)
    .orderBy("from_at_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  if (last && last.to_at_ms >= gap.toMs) return;
  const fromMs = last && last.to_at_ms >= gap.fromMs ? last.from_at_ms : gap.fromMs;
  await upsertGaps(trx, [{ target_id: targetId, from_at_ms: fromMs, to_at_ms: gap.toMs }]);
}

/** In order, clipped to the range. */
export async function* readGaps(
  reader: Db,
  { target, fromMs, toMs }: GapQuery,
): AsyncIterable<Gap> {
  if (fromMs >= toMs) return;
  const ofTarget = reader
    .selectFrom("gaps")
    .innerJoin("targets", "targets.id", "gaps.target_id")
    .where("region", "=", target.region)
    .where("key", "=", target.key);
  // Only the last of those that begin before the range can reach into it.
  const before = await ofTarget
    .select("from_at_ms")
    .where("from_at_ms", "<=", fromMs)
    .orderBy("from_at_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  let nextMs = before?.from_at_ms ?? fromMs;
  for (;;) {
    const page = await ofTarget
      .select(["from_at_ms", "to_at_ms"])
      .where("from_at_ms", ">=", nextMs)
      .where("from_at_ms", "<", toMs)
      .orderBy("from_at_ms")
      .limit(gapsAtOnce)
      .execute();
    for (const { from_at_ms: startMs, to_at_ms: endMs } of page) {
      nextMs = startMs + 1;
      if (endMs > fromMs) yield { fromMs: Math.max(startMs, fromMs), toMs: Math.min(endMs, toMs) };
    }
    if (page.length < gapsAtOnce) return;
  }
}
