import type { ListingIntake } from "../core/listing-intake.ts";

/** Takes a listing in only to count its sandboxes. */
export function createCountingIntake(): ListingIntake {
  const ids = new Set<string>();
  return {
    // Nothing is known of any text, so every sandbox is read.
    knownBody: null,
    sameBody() {
      throw new TypeError("no body was known");
    },
    cameIn() {},
    expectedTexts: () => 0,
    takeTexts() {
      throw new TypeError("no text was expected");
    },
    moved: () => null,
    listed({ sandboxId }) {
      const isRepeated = ids.has(sandboxId);
      ids.add(sandboxId);
      return isRepeated ? { servers: 0, together: 0 } : null;
    },
    restart: () => ids.clear(),
    get sandboxCount() {
      return ids.size;
    },
  };
}
