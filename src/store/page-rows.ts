import type { Insertable, Selectable } from "kysely";
import { freeBuffer } from "../platform/free-buffer.ts";
import { Page, sandboxWords, serverWords } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";
import { readNames } from "./target-rows.ts";
import type { PagesTable } from "./tables.ts";

/** @param lastEdit the latest edits that the page holds already */
export function pageToRow(targetId: number, page: Page, lastEdit: number): Insertable<PagesTable> {
  return {
    target_id: targetId,
    page_id: page.id,
    last_edit: lastEdit,
    sandbox_count: page.sandboxCount,
    records: bytesOf(page.words),
    texts: JSON.stringify(page.texts),
  };
}

/**
 * @param row its records are given away
 * @param takeWords gives room for so many words
 * @throws {RangeError} when the records are not whole
 */
export function pageFromRow(
  row: Selectable<PagesTable>,
  takeWords: (count: number) => Words,
): Page {
  const { page_id: id, sandbox_count: sandboxCount, records } = row;
  const serverBytes = records.length - sandboxCount * sandboxWords * 4;
  if (serverBytes < 0 || serverBytes % (serverWords * 4) !== 0) {
    throw new RangeError(`page ${id} of the store is not whole`);
  }
  const words = takeWords(records.length / 4);
  bytesOf(words).set(records);
  freeBuffer(records);
  return new Page(id, sandboxCount, words, readNames(row.texts));
}

export function bytesOf({ buffer, byteOffset, byteLength }: Words): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
