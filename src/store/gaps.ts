import type { Kysely } from "kysely";
import type { Verdict } from "../core/judge.ts";
import type { Booking } from "../core/occupancy/booking.ts";
import type { Target } from "../core/model.ts";
import type { Tables } from "./tables.ts";

/** A stretch of the calendar in which nobody watched a target. UTC milliseconds. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface GapQuery {
  readonly target: Target;
  /** UTC milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
}

const gapsAtOnce = 500;

/** The clocks may differ by less without anybody having stepped one of them. */
const slackMs = 1_000;

/**
 * What of the calendar passed unwatched since the poll before. Between two polls that were watched
 * that is what the calendar passed over: it was stepped forward, or the machine was suspended.
 */
function gapBefore(
  { elapsedMs, observed }: Booking,
  lastPollAtMs: number,
  atMs: number,
): Gap | null {
  const toMs = observed ? atMs - elapsedMs : atMs;
  const leastMs = observed ? slackMs : 0;
  return toMs - lastPollAtMs > leastMs ? { fromMs: lastPollAtMs, toMs } : null;
}

/** Writes gaps, those that follow one another as one. */
export function createGapWriter() {
  /** When the latest poll of each target ended. */
  const lastPolls = new Map<number, number | null>();

  return {
    /**
     * Within the transaction of the polls, before their progress is written.
     *
     * @param polls that followed one another
     * @returns what to call once it is committed
     */
    async write(
      trx: Kysely<Tables>,
      targetId: number,
      polls: readonly Pick<Verdict, "booking" | "progress">[],
    ): Promise<() => void> {
      const known = lastPolls.get(targetId);
      let lastPollAtMs = known === undefined ? await readLastPoll(trx, targetId) : known;
      for (const { booking, progress } of polls) {
        const atMs = progress.lastPollAtMs;
        if (atMs === null) continue;
        const gap = lastPollAtMs === null ? null : gapBefore(booking, lastPollAtMs, atMs);
        if (gap) await writeGap(trx, targetId, gap);
        lastPollAtMs = atMs;
      }
      return () => lastPolls.set(targetId, lastPollAtMs);
    },
  };
}

async function readLastPoll(trx: Kysely<Tables>, targetId: number): Promise<number | null> {
  const row = await trx
    .selectFrom("targets")
    .select("last_poll_at_ms")
    .where("id", "=", targetId)
    .executeTakeFirst();
  return row?.last_poll_at_ms ?? null;
}

/** Gaps of a target never overlap: a clock that was set back lives through no hour twice. */
async function writeGap(trx: Kysely<Tables>, targetId: number, gap: Gap): Promise<void> {
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
