import type { Kysely } from "kysely";
import type { Gap } from "../fleet/accounting.ts";
import type { Target } from "../fleet/model.ts";
import type { Tables } from "./tables.ts";

export interface GapQuery {
  readonly target: Target;
  /** UTC milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
}

const gapsAtOnce = 500;

/** Within the transaction of the poll that found it. Gaps of a target never overlap: a clock that was set back lives through no hour twice. */
export async function writeGap(trx: Kysely<Tables>, targetId: number, gap: Gap): Promise<void> {
  const last = await trx
    .selectFrom("gaps")
    .select(["from_at_ms", "to_at_ms"])
    .where("target_id", "=", targetId)
    .orderBy("from_at_ms", "desc")
    .limit(1)
    .executeTakeFirst();
  if (last && last.to_at_ms >= gap.toMs) return;
  const fromMs = last && last.to_at_ms >= gap.fromMs ? last.from_at_ms : gap.fromMs;
  await trx
    .insertInto("gaps")
    .values({ target_id: targetId, from_at_ms: fromMs, to_at_ms: gap.toMs })
    .onConflict((conflict) =>
      conflict.columns(["target_id", "from_at_ms"]).doUpdateSet({ to_at_ms: gap.toMs }),
    )
    .execute();
}

/** In order, clipped to the range. */
export async function* readGaps(
  reader: Kysely<Tables>,
  { target, fromMs, toMs }: GapQuery,
): AsyncIterable<Gap> {
  if (fromMs >= toMs) return;
  const select = reader
    .selectFrom("gaps")
    .innerJoin("targets", "targets.id", "gaps.target_id")
    .where("targets.region", "=", target.region)
    .where("targets.key", "=", target.key)
    .where("gaps.from_at_ms", "<", toMs)
    .select(["gaps.from_at_ms", "gaps.to_at_ms"])
    .limit(gapsAtOnce);
  // Only the last of those that begin before the range can reach into it.
  const [first] = await select
    .where("gaps.from_at_ms", "<=", fromMs)
    .orderBy("gaps.from_at_ms", "desc")
    .limit(1)
    .execute();
  let page = first ? [first] : [];
  let beforeMs = fromMs;
  do {
    for (const gap of page) {
      beforeMs = gap.from_at_ms;
      if (gap.to_at_ms <= fromMs) continue;
      yield { fromMs: Math.max(gap.from_at_ms, fromMs), toMs: Math.min(gap.to_at_ms, toMs) };
    }
    page = await select
      .where("gaps.from_at_ms", ">", Math.max(beforeMs, fromMs))
      .orderBy("gaps.from_at_ms")
      .execute();
  } while (page.length > 0);
}
