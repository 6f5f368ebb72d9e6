import { sql } from "kysely";
import type { Insertable, Kysely, Selectable } from "kysely";
import type { PageDelta } from "../core/snapshot/page-delta.ts";
import { PageRoom } from "../core/snapshot/page-room.ts";
import type { Page } from "../core/snapshot/page.ts";
import { restoreSnapshot } from "../core/snapshot/restore-snapshot.ts";
import type { PackedSnapshot } from "../core/snapshot/packed-snapshot.ts";
import { batches, paced } from "../platform/paced.ts";
import { addEdit, applyEdits, EditWords, readEdits } from "./page-edits.ts";
import { createPageReader, pageToRow } from "./page-rows.ts";
import { prepareRows } from "./prepared.ts";
import { createRowReading } from "./row-reading.ts";
import { asStoreError, isSqliteError } from "./store-error.ts";
import type { PagesTable, Tables } from "./tables.ts";
import { bytesOf } from "./word-bytes.ts";

/** The stored pages of the targets' snapshots. */
export interface SnapshotPages {
  /** Empty where the pages cannot be read. */
  restore(targetId: number): Promise<PackedSnapshot>;
  /**
   * Within the transaction of the poll.
   *
   * @returns what to call once the transaction is committed; null when nothing was written
   */
  write(trx: Kysely<Tables>, targetId: number, delta: PageDelta): Promise<(() => void) | null>;
}

/** A fixed number keeps statements few and reusable. */
const pagesPerStatement = 16;
const idsPerStatement = 100;
const pagesComparedAtOnce = 256;
const pagesReadAtOnce = 256;

/** Where edits are more work than this, or than half of the pages' words, the pages are stored whole. */
const littleWork = 4_096;

interface Edited {
  /** The id of the latest row of edits; a page that is stored whole later knows it. */
  readonly lastEdit: number;
  /** Of all that a start applies: see `applyEdits`. */
  readonly work: number;
}

const notEdited: Edited = { lastEdit: 0, work: 0 };

const upsertPages = prepareRows((db, rows: readonly Insertable<PagesTable>[]) =>
  db
    .insertInto("pages")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["target_id", "page_id"]).doUpdateSet((row) => ({
        last_edit: row.ref("excluded.last_edit"),
        sandbox_count: row.ref("excluded.sandbox_count"),
        records: row.ref("excluded.records"),
        legend: row.ref("excluded.legend"),
      })),
    ),
);

export function createSnapshotPages(
  kysely: Kysely<Tables>,
  reading = createRowReading(),
): SnapshotPages {
  const edited = new Map<number, Edited>();
  /** Targets of which the stored pages cannot be read: the next ones take the place of all of them. */
  const unreadable = new Set<number>();

  const writeWhole = async (
    trx: Kysely<Tables>,
    targetId: number,
    pages: readonly Page[],
    lastEdit: number,
  ): Promise<void> => {
    for await (const some of paced(batches(pages, pagesPerStatement))) {
      await upsertPages(
        trx,
        some.map((page) => pageToRow(targetId, page, lastEdit)),
      );
    }
  };

  /** In the order of their ids, and never all of them at once. */
  async function* rowsOf(targetId: number): AsyncIterable<readonly Selectable<PagesTable>[]> {
    let last = 0;
    for (;;) {
      const rows = await kysely
        .selectFrom("pages")
        .selectAll()
        .where("target_id", "=", targetId)
        .where("page_id", ">", last)
        .orderBy("page_id")
        .limit(pagesReadAtOnce)
        .execute();
      const end = rows.at(-1);
      if (!end) return;
      last = end.page_id;
      yield rows;
    }
  }

  const restore = async (targetId: number): Promise<PackedSnapshot> => {
    const room = new PageRoom();
    const readPage = createPageReader((count) => room.take(count));
    const pages: Page[] = [];
    const lastEdits = new Map<number, number>();
    for await (const rows of rowsOf(targetId)) {
      for (const row of rows) {
        pages.push(readPage(row));
        lastEdits.set(row.page_id, row.last_edit);
      }
    }
    const byId = new Map(pages.map((page) => [page.id, page]));
    const edits = await kysely
      .selectFrom("page_edits")
      .select(["id", "words"])
      .where("target_id", "=", targetId)
      .orderBy("id")
      .execute();
    let work = 0;
    for (const { id, words: bytes } of edits) {
      work += applyEdits(byId, readEdits(bytes), (pageId) => (lastEdits.get(pageId) ?? 0) < id);
    }
    const lastEdit = Math.max(0, edits.at(-1)?.id ?? 0, ...new Set(lastEdits.values()));
    edited.set(targetId, { lastEdit, work });
    return restoreSnapshot(pages, room);
  };

  return {
    async restore(targetId) {
      try {
        return await restore(targetId);
      } catch (error) {
        if (isSqliteError(error)) throw asStoreError(error, await fileOf(kysely));
        reading.report("pages", `of target ${targetId}`);
        unreadable.add(targetId);
        return restoreSnapshot([]);
      }
    },

    async write(trx, targetId, { replaced, removed, all }) {
      if (unreadable.has(targetId)) {
        await trx.deleteFrom("page_edits").where("target_id", "=", targetId).execute();
        await trx.deleteFrom("pages").where("target_id", "=", targetId).execute();
        await writeWhole(trx, targetId, all, 0);
        return () => {
          unreadable.delete(targetId);
          edited.delete(targetId);
        };
      }
      if (replaced.length === 0 && removed.length === 0) return null;
      const known = edited.get(targetId) ?? notEdited;
      const edits = new EditWords();
      const whole: Page[] = [];
      for await (const some of paced(batches(replaced, pagesComparedAtOnce))) {
        for (const { before, after } of some) {
          if (!before || !addEdit(edits, before, after)) whole.push(after);
        }
      }
      for await (const ids of paced(batches(removed, idsPerStatement))) {
        await trx
          .deleteFrom("pages")
          .where("target_id", "=", targetId)
          .where("page_id", "in", ids)
          .execute();
      }
      const work = known.work + edits.work;
      if (work > Math.max(littleWork, wordsIn(all) / 2)) {
        await trx.deleteFrom("page_edits").where("target_id", "=", targetId).execute();
        await writeWhole(trx, targetId, all, known.lastEdit);
        return () => edited.set(targetId, { ...known, work: 0 });
      }
      await writeWhole(trx, targetId, whole, known.lastEdit);
      if (edits.length === 0) return null;
      const { id } = await trx
        .insertInto("page_edits")
        .values({ target_id: targetId, words: bytesOf(edits.toWords()) })
        .returning("id")
        .executeTakeFirstOrThrow();
      return () => edited.set(targetId, { lastEdit: id, work });
    },
  };
}

async function fileOf(kysely: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ file: string }>`
    select file from pragma_database_list where name = 'main'
  `.execute(kysely);
  return rows[0]?.file ?? "";
}

function wordsIn(pages: readonly Page[]): number {
  return pages.reduce((sum, { recordWords }) => sum + recordWords, 0);
}
