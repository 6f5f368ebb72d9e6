import type { Insertable, Selectable } from "kysely";
import { Page, sandboxWords, serverWords } from "../core/snapshot/page.ts";
import { readNames } from "./target-rows.ts";
import type { PagesTable } from "./tables.ts";

/** @param lastEdit the latest edits that the page holds already */
export function pageToRow(targetId: number, page: Page, lastEdit: number): Insertable<PagesTable> {
  return {
    target_id: targetId,
    page_id: page.id,
    last_edit: lastEdit,
    sandbox_count: page.sandboxCount,
    records: new Uint8Array(page.words.buffer),
    texts: JSON.stringify(page.texts),
  };
}

/** @throws {RangeError} when the records are not whole */
export function pageFromRow(row: Selectable<PagesTable>): Page {
  const { page_id: id, sandbox_count: sandboxCount, records } = row;
  const serverBytes = records.length - sandboxCount * sandboxWords * 4;
  if (serverBytes < 0 || serverBytes % (serverWords * 4) !== 0) {
    throw new RangeError(`page ${id} of the store is not whole`);
  }
  return new Page(id, sandboxCount, new Uint8Array(records).buffer, readNames(row.texts));
}
