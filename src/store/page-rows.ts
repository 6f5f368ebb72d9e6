import type { Insertable, Selectable } from "kysely";
import { z } from "zod";
import { freeBuffer } from "../platform/free-buffer.ts";
import { pageOf } from "../core/snapshot/page.ts";
import { sandboxWords, serverWords } from "../core/snapshot/page-records.ts";
import type { Legend, Page } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";
import { kindOf } from "../core/snapshot/server-kind.ts";
import type { ServerKind } from "../core/snapshot/server-kind.ts";
import type { PagesTable } from "./tables.ts";

const text = z.string().nullable();
const kindSchema = z.union([text, z.tuple([text, text, z.array(z.string())])]);
const legendSchema = z.tuple([z.array(z.string()), z.array(kindSchema)]);
type WrittenKind = z.infer<typeof kindSchema>;

/** @param lastEdit the latest edits that the page holds already */
export function pageToRow(targetId: number, page: Page, lastEdit: number): Insertable<PagesTable> {
  return {
    target_id: targetId,
    page_id: page.id,
    last_edit: lastEdit,
    sandbox_count: page.sandboxCount,
    records: bytesOf(page.words),
    legend: JSON.stringify(legendToJson(page.legend)),
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
  const page = pageOf({ id, sandboxCount, legend: legendFromJson(row.legend) }, records, takeWords);
  freeBuffer(records);
  return page;
}

/** Most kinds are no more than a name. */
function legendToJson({ texts, kinds }: Legend): unknown {
  const kindToJson = ({ serverName, benchmark, tags }: ServerKind): unknown =>
    benchmark === null && tags.length === 0 ? serverName : [serverName, benchmark, tags];
  return [texts, kinds.map(kindToJson)];
}

function legendFromJson(json: string): Legend {
  const written: unknown = JSON.parse(json);
  // A large fleet has thousands of legends with many kinds each: zod says what is wrong, if anything is.
  const [texts, kinds] = isLegend(written) ? written : legendSchema.parse(written);
  return { texts, kinds: kinds.map(kindFromJson) };
}

function kindFromJson(written: WrittenKind): ServerKind {
  if (!Array.isArray(written)) return kindOf({ serverName: written, benchmark: null, tags: [] });
  const [serverName, benchmark, tags] = written;
  return kindOf({ serverName, benchmark, tags });
}

function isLegend(written: unknown): written is z.infer<typeof legendSchema> {
  if (!Array.isArray(written) || written.length !== 2) return false;
  const [texts, kinds]: readonly unknown[] = written;
  return isTexts(texts) && Array.isArray(kinds) && kinds.every(isKind);
}

function isKind(written: unknown): written is WrittenKind {
  if (!Array.isArray(written)) return isTextOrNull(written);
  const [serverName, benchmark, tags]: readonly unknown[] = written;
  return (
    written.length === 3 && isTextOrNull(serverName) && isTextOrNull(benchmark) && isTexts(tags)
  );
}

function isTextOrNull(written: unknown): written is string | null {
  return written === null || typeof written === "string";
}

function isTexts(written: unknown): written is string[] {
  return Array.isArray(written) && written.every((each) => typeof each === "string");
}

export function bytesOf({ buffer, byteOffset, byteLength }: Words): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
