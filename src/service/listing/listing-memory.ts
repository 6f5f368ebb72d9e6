import { randomBytes } from "node:crypto";
import type { BeginBodyHash, BodyHash } from "./body-hash.ts";
import { createDeviationNotes, type DeviationNotes } from "./deviation-notes.ts";
import { TextRoom } from "./text-room.ts";

/**
 * What marks are made with. Their numbers mean something only beside the notes that gave them: as each
 * memory hashes in a way of its own, the mark of another one is never met.
 */
export interface ListingMemory {
  beginBody(): BodyHash;
  readonly texts: TextRoom;
  readonly notes: DeviationNotes;
}

/**
 * Its hashes are seeded anew at random: what two memories make of a text never agrees but by chance. They
 * are no cryptographic ones: who writes two texts can make them share one, whatever the seed.
 */
export function createListingMemory(beginHash: BeginBodyHash): ListingMemory {
  const seed = randomBytes(8).readBigUInt64LE();
  return {
    beginBody: () => beginHash(seed),
    texts: new TextRoom(seed),
    notes: createDeviationNotes(),
  };
}
