import type { Insertable, Selectable } from "kysely";
import { freeBuffer } from "../platform/free-buffer.ts";
import { pageOf } from "../core/snapshot/page.ts";
import { sandboxWords, serverWords } from "../core/snapshot/page-records.ts";
import type { Page } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";
import { createLegendReader, legendToJson } from "./legend-json.ts";
import type { PagesTable } from "./tables.ts";
import { bytesOf } from "./word-bytes.ts";

/** @param lastEdit the latest edits that the page holds already */
export function pageToRow(targetId: number, page: Page, lastEdit: number): Insertable<PagesTable> {
  return {
    target_id: targetId,
    page_id: page.id,
    last_edit: lastEdit,
    sandbox_count: page.sandboxCount,
    records: bytesOf(page.words),
    legend: legendToJson(page.legend),
  };
}

/**
 * Reads the pages of one target.
 *
 * @param takeWords gives room for so many words
 */
export function createPageReader(takeWords: (count: number) => Words) {
  const readLegend = createLegendReader();
  /**
   * @param row its records are given away
   * @throws {RangeError} when the records are not whole
   */
  return (row: Selectable<PagesTable>): Page => {
    const { page_id: id, sandbox_count: sandboxCount, records } = row;
    const serverBytes = records.length - sandboxCount * sandboxWords * 4;
    if (serverBytes < 0 || serverBytes % (serverWords * 4) !== 0) {
      throw new RangeError(`page ${id} of the store is not whole`);
    }
    const page = pageOf({ id, sandboxCount, legend: readLegend(row.legend) }, records, takeWords);
    freeBuffer(records);
    return page;
  };
}
