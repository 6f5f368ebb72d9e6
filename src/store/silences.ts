import type { Kysely, Selectable } from "kysely";
import type { Silence } from "../core/silence.ts";
import type { SilencesTable, Tables } from "./tables.ts";

export interface StoredSilence extends Silence {
  readonly createdAtMs: number;
}

/** A place in a list that is sorted by a moment and an id. */
export interface ListPlace {
  readonly atMs: number;
  readonly id: string;
}

export interface SilencePageQuery {
  /** Whether those that have ended by now are listed too. */
  readonly ended: boolean;
  readonly nowMs: number;
  readonly limit: number;
  /** Only those created before this one. */
  readonly before: ListPlace | null;
}

/** Each call is one transaction. */
export function createStoredSilences(kysely: Kysely<Tables>, reader = kysely) {
  return {
    /** Those that have not ended by now. */
    async open(nowMs: number): Promise<readonly Silence[]> {
      const rows = await kysely
        .selectFrom("silences")
        .selectAll()
        .where("ends_at_ms", ">", nowMs)
        .execute();
      return rows.map(readSilence);
    },

    async add(silence: StoredSilence): Promise<void> {
      await kysely
        .insertInto("silences")
        .values({
          id: silence.id,
          match: JSON.stringify(silence.match),
          author: silence.author,
          reason: silence.reason,
          created_at_ms: silence.createdAtMs,
          starts_at_ms: silence.startsAtMs,
          ends_at_ms: silence.endsAtMs,
        })
        .execute();
    },

    /** Moves its end to a moment, unless it is over by then. */
    async end(id: string, atMs: number): Promise<void> {
      await kysely
        .updateTable("silences")
        .set({ ends_at_ms: atMs })
        .where("id", "=", id)
        .where("ends_at_ms", ">", atMs)
        .execute();
    },

    async find(id: string): Promise<StoredSilence | null> {
      const row = await reader
        .selectFrom("silences")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? readSilence(row) : null;
    },

    /** Latest created first. */
    async page(query: SilencePageQuery): Promise<readonly StoredSilence[]> {
      let select = reader.selectFrom("silences").selectAll();
      if (!query.ended) select = select.where("ends_at_ms", ">", query.nowMs);
      if (query.before) {
        const { atMs, id } = query.before;
        select = select.where((where) =>
          where.or([
            where("created_at_ms", "<", atMs),
            where.and([where("created_at_ms", "=", atMs), where("id", "<", id)]),
          ]),
        );
      }
      const rows = await select
        .orderBy("created_at_ms", "desc")
        .orderBy("id", "desc")
        .limit(query.limit)
        .execute();
      return rows.map(readSilence);
    },
  };
}

/** Matches are written by this file alone. */
function readSilence(row: Selectable<SilencesTable>): StoredSilence {
  return {
    id: row.id,
    match: JSON.parse(row.match),
    author: row.author,
    reason: row.reason,
    createdAtMs: row.created_at_ms,
    startsAtMs: row.starts_at_ms,
    endsAtMs: row.ends_at_ms,
  };
}
