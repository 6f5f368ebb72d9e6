import type { ListingIntake, TextMark } from "../../../src/core/listing-intake.ts";
import type { ListedSandbox } from "../../../src/core/model.ts";

/** Reads listings as a reader of texts does that knows again by its mark what it read before. */
export interface MarkedReader {
  /**
   * @param isMarked whether a sandbox, by its place in the listing, is given a mark
   * @returns the ids of those that had to be read
   */
  read(
    intake: ListingIntake,
    sandboxes: readonly ListedSandbox[],
    isMarked?: (place: number) => boolean,
  ): readonly string[];
  /** How many sandboxes did not have to be read. */
  readonly skipped: number;
}

export function createMarkedReader(): MarkedReader {
  const hashes = new Map<string, bigint>();
  let skipped = 0;
  const markOf = (sandbox: ListedSandbox): TextMark => {
    const text = JSON.stringify(sandbox);
    const hash = hashes.get(text) ?? BigInt(hashes.size) * 0x1_0000_0001n;
    hashes.set(text, hash);
    return { length: text.length, hash, steadyHash: 0n, note: sandbox.servers.length };
  };
  return {
    read(intake, sandboxes, isMarked = () => true) {
      const read: string[] = [];
      for (const [place, sandbox] of sandboxes.entries()) {
        const mark = markOf(sandbox);
        if (isSame(intake.expected(), mark)) {
          intake.same();
          skipped++;
        } else if (intake.moved(mark.length, mark.hash)) skipped++;
        else {
          intake.listed(sandbox, isMarked(place) ? mark : null);
          read.push(sandbox.sandboxId);
        }
      }
      return read;
    },
    get skipped() {
      return skipped;
    },
  };
}

function isSame(expected: TextMark | null, mark: TextMark): boolean {
  return (
    expected?.hash === mark.hash && expected.length === mark.length && expected.note === mark.note
  );
}
