import { createDeviationNotes, type DeviationNotes } from "./deviation-notes.ts";
import type { TextHash } from "./text-hash.ts";

/**
 * What marks are made with. Their numbers mean something only beside the notes that gave them: as each
 * memory hashes in a way of its own, the mark of another one is never met.
 */
export interface ListingMemory {
  readonly hash: TextHash;
  readonly notes: DeviationNotes;
}

export function createListingMemory(hash: TextHash): ListingMemory {
  return { hash, notes: createDeviationNotes() };
}
