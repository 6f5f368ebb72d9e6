import type { Kysely, Selectable } from "kysely";
import { matchFields } from "../alerts/silence.ts";
import type { Silence, SilenceMatch } from "../alerts/silence.ts";
import { fillPage, isBeyond } from "./queries.ts";
import { createRowReading, oneOf, textIn } from "./row-reading.ts";
import { storableText } from "./storable-text.ts";
import type { Tables } from "./tables.ts";

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
export function createStoredSilences(
  kysely: Kysely<Tables>,
  reader = kysely,
  reading = createRowReading(),
) {
  const read = (row: Selectable<Tables["silences"]>): StoredSilence | null =>
    reading.read("silences", row.id, row, readSilence);

  return {
    /** Those that have not ended by now. */
    async open(nowMs: number): Promise<readonly Silence[]> {
      const rows = await kysely
        .selectFrom("silences")
        .selectAll()
        .where("ends_at_ms", ">", nowMs)
        .execute();
      // One that cannot be read silences nothing: it is better to be notified once too often.
      return rows.flatMap((row) => read(row) ?? []);
    },

    async add(silence: StoredSilence): Promise<void> {
      await kysely
        .insertInto("silences")
        .values({
          id: silence.id,
          match: JSON.stringify(silence.match),
          author: storableText(silence.author),
          reason: storableText(silence.reason),
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
      return row ? read(row) : null;
    },

    /** Latest created first. */
    async page(query: SilencePageQuery): Promise<readonly StoredSilence[]> {
      const selectAfter = (place: ListPlace | null, most: number) => {
        let select = reader.selectFrom("silences").selectAll();
        if (!query.ended) select = select.where("ends_at_ms", ">", query.nowMs);
        if (place) {
          select = select.where(isBeyond(["created_at_ms", "id"], "<", [place.atMs, place.id]));
        }
        return select.orderBy("created_at_ms", "desc").orderBy("id", "desc").limit(most).execute();
      };
      return fillPage(
        query.limit,
        (last: Selectable<Tables["silences"]> | null, most) =>
          selectAfter(last ? { atMs: last.created_at_ms, id: last.id } : query.before, most),
        read,
      );
    },
  };
}

/** @throws when the row cannot be read */
function readSilence(row: Selectable<Tables["silences"]>): StoredSilence {
  return {
    id: row.id,
    match: readMatch(row.match),
    author: row.author,
    reason: row.reason,
    createdAtMs: row.created_at_ms,
    startsAtMs: row.starts_at_ms,
    endsAtMs: row.ends_at_ms,
  };
}

/** One without a field that is known would silence everything. */
function readMatch(json: string): SilenceMatch {
  const match: unknown = JSON.parse(json);
  const fields = typeof match === "object" && match !== null ? Object.entries(match) : [];
  if (fields.length === 0) throw new TypeError("a stored match is none");
  return Object.fromEntries(
    fields.map(([field, patterns]) => [oneOf(matchFields, field), readPatterns(patterns)]),
  );
}

function readPatterns(patterns: unknown): readonly string[] {
  if (!Array.isArray(patterns)) throw new TypeError("stored patterns are none");
  return patterns.map(textIn);
}
