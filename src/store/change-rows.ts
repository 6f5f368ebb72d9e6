import type { Insertable, Selectable } from "kysely";
import { PackedChanges } from "../core/snapshot/packed-changes.ts";
import { readNames } from "./target-rows.ts";
import type { ChangesTable } from "./tables.ts";
import { bytesOf, wordsOf } from "./word-bytes.ts";

export function changesToRow(
  targetId: number,
  atMs: number,
  packed: PackedChanges,
): Insertable<ChangesTable> {
  const { words } = packed;
  const lapses = packed.countLapses();
  return {
    target_id: targetId,
    at_ms: atMs,
    change_count: packed.length - lapses,
    lapse_count: lapses,
    texts: JSON.stringify(packed.texts),
    words: bytesOf(words),
  };
}

/** @throws {RangeError} when the row is not whole */
export function changesFromRow({
  texts,
  words,
}: Pick<Selectable<ChangesTable>, "texts" | "words">): PackedChanges {
  return new PackedChanges(wordsOf(words), readNames(texts));
}
