import type { InferResult } from "kysely";
import { matchFields, type Silence, type SilenceMatch } from "../alerts/silence.ts";
import { fillPage, isBeyond, storableText } from "./sql-helpers.ts";
import type { ListCursor } from "./sql-helpers.ts";
import { createRowReading, listIn, oneOf, textIn, type RowReading } from "./row-reading.ts";
import type { Db } from "./tables.ts";

export interface StoredSilence extends Silence {
  readonly createdAtMs: number;
  /** Who moved its end last, and when; null: nobody. */
  readonly changedBy: string | null;
  readonly changedAtMs: number | null;
}

export type NewSilence = Omit<StoredSilence, "changedBy" | "changedAtMs">;

export interface SilenceChange {
  readonly endsAtMs: number;
  /** Default: as before. */
  readonly reason?: string;
  readonly changedBy: string | null;
  readonly changedAtMs: number;
}

export interface SilencePageQuery {
  /** Whether those that have ended by now are listed too. */
  readonly ended: boolean;
  readonly nowMs: number;
  readonly limit: number;
  /** Only those created before this one. */
  readonly before: ListCursor | null;
}

/** Each call is one transaction. */
export function createSilences(kysely: Db, reader = kysely, reading = createRowReading()) {
  return {
    /** @returns whether it was stored: another silence may have its id */
    async add({ id, match, ...silence }: NewSilence): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await kysely
        .insertInto("silences")
        .values({
          id,
          match: JSON.stringify(match),
          author: storableText(silence.author),
          reason: storableText(silence.reason),
          created_at_ms: silence.createdAtMs,
          starts_at_ms: silence.startsAtMs,
          ends_at_ms: silence.endsAtMs,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },

    /**
     * Moves its end, unless it is over.
     *
     * @returns whether it was moved
     */
    async change(
      id: string,
      { endsAtMs, reason, changedBy, changedAtMs }: SilenceChange,
    ): Promise<boolean> {
      const { numUpdatedRows } = await kysely
        .updateTable("silences")
        .set({ ends_at_ms: endsAtMs, changed_by: storableText(changedBy) })
        .set({ changed_at_ms: changedAtMs, ...(reason && { reason: storableText(reason) }) })
        .where("id", "=", id)
        .where("ends_at_ms", ">", changedAtMs)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },

    async find(id: string): Promise<StoredSilence | null> {
      const row = await selectSilences(reader).where("id", "=", id).executeTakeFirst();
      return row ? readSilence(reading, row) : null;
    },

    /** Latest created first. */
    page: ({ ended, nowMs, limit, before }: SilencePageQuery): Promise<readonly StoredSilence[]> =>
      fillPage(
        limit,
        (last: SilenceRow | null, most) => {
          const after = last ? { atMs: last.createdAtMs, id: last.id } : before;
          let some = selectSilences(reader);
          if (!ended) some = some.where("ends_at_ms", ">", nowMs);
          if (after)
            some = some.where(isBeyond(["created_at_ms", "id"], "<", [after.atMs, after.id]));
          return some.orderBy("created_at_ms", "desc").orderBy("id", "desc").limit(most).execute();
        },
        (row) => readSilence(reading, row),
      ),
  };
}

export function selectSilences(db: Db) {
  return db
    .selectFrom("silences")
    .select(["id", "match", "author", "reason", "created_at_ms as createdAtMs"])
    .select(["starts_at_ms as startsAtMs", "ends_at_ms as endsAtMs"])
    .select(["changed_by as changedBy", "changed_at_ms as changedAtMs"]);
}

type SilenceRow = InferResult<ReturnType<typeof selectSilences>>[number];

/** @returns null when the row cannot be read */
export function readSilence(reading: RowReading, row: SilenceRow): StoredSilence | null {
  return reading.read("silences", row.id, row, ({ match, ...rest }) => {
    return { ...rest, match: readMatch(match) };
  });
}

/** @throws where it has no field, as it would silence everything, or one that is not known */
function readMatch(json: string): SilenceMatch {
  const fields = Object.entries(JSON.parse(json));
  if (fields.length === 0) throw new TypeError("a stored match is empty");
  return Object.fromEntries(
    fields.map(([field, patterns]) => [oneOf(matchFields, field), listIn(patterns, textIn)]),
  );
}
