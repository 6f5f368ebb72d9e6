import type { BodyMark, ListingIntake } from "../../../src/core/listing-intake.ts";
import type { ListedSandbox, Status } from "../../../src/core/model.ts";
import type { OpenStatuses, TextMark } from "../../../src/core/text-mark.ts";
import { nextTexts, theSame } from "../../support/came-texts.ts";
import type { CameText } from "../../support/came-texts.ts";
import type { Listing } from "../../support/listing.ts";

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
  /** The same of a whole body, of which nothing is read where it is the known one. */
  readBody(
    intake: ListingIntake,
    listing: Listing,
    isMarked?: (place: number) => boolean,
  ): readonly string[];
  /** How many bodies did not have to be read. */
  readonly skippedBodies: number;
  /** How many sandboxes did not have to be read. */
  readonly skipped: number;
  /** How many of these were taken several at once. */
  readonly skippedInRows: number;
}

/** Fewer than a page holds, and than some listings do. */
const mostInARow = 5;

export function createMarkedReader(): MarkedReader {
  const hashes = new Map<string, bigint>();
  let skipped = 0;
  let skippedBodies = 0;
  let skippedInRows = 0;
  const hashOf = (text: string): bigint => {
    const hash = hashes.get(text) ?? BigInt(hashes.size + 1) * 0x1_0000_0001n;
    hashes.set(text, hash);
    return hash;
  };
  // Most sandboxes are in one listing after the other, and spelling one out is most of the work.
  const marks = new WeakMap<ListedSandbox, TextMark>();
  const markOf = (sandbox: ListedSandbox): TextMark => {
    const known = marks.get(sandbox);
    if (known) return known;
    const mark = spellMark(sandbox);
    marks.set(sandbox, mark);
    return mark;
  };
  const spellMark = (sandbox: ListedSandbox): TextMark => {
    const text = JSON.stringify(sandbox);
    const steady = JSON.stringify(sandbox, (name, value: unknown) =>
      name === "status" && value !== "unknown" ? "open" : value,
    );
    return {
      length: text.length,
      hash: hashOf(text),
      steadyHash: hashOf(steady),
      steadyLength: text.length,
      openStatuses: openIn(sandbox),
      // Nothing is to be remarked of most.
      note: sandbox.sandboxId.endsWith("77") ? sandbox.servers.length : 0,
    };
  };
  /** What came as it was expected; null for another sandbox, or one that must be read. */
  const cameAs = (
    expected: TextMark | null,
    sandbox: ListedSandbox | undefined,
    isMarked: boolean,
  ): CameText | null => {
    const mark = sandbox && markOf(sandbox);
    if (!mark) return null;
    if (isSame(expected, mark)) return theSame;
    if (!isMarked || !isSteady(expected, mark)) return null;
    return { other: mark, statuses: statusesIn(sandbox) };
  };
  const bodyOf = (listing: Listing): BodyMark => {
    const text = JSON.stringify(listing);
    return { length: text.length, hash: hashOf(text) };
  };
  /** Whether a sandbox that is not the one expected is taken without being read. */
  const isTaken = (intake: ListingIntake, sandbox: ListedSandbox, isMarked: boolean): boolean => {
    const mark = markOf(sandbox);
    if (!intake.moved(mark.length, mark.hash)) {
      intake.listed(sandbox, isMarked ? mark : null);
      return false;
    }
    skipped++;
    return true;
  };
  const reader: MarkedReader = {
    readBody(intake, listing, isMarked) {
      const body = bodyOf(listing);
      const { knownBody } = intake;
      if (knownBody?.length === body.length && knownBody.hash === body.hash) {
        intake.sameBody();
        skippedBodies++;
        return [];
      }
      const read = reader.read(intake, listing.sandboxes, isMarked);
      const isPlain = listing.complete && intake.sandboxCount === listing.sandboxes.length;
      if (isPlain) intake.cameIn(body);
      return read;
    },
    get skippedBodies() {
      return skippedBodies;
    },
    read(intake, sandboxes, isMarked = () => true) {
      const read: string[] = [];
      for (let place = 0; place < sandboxes.length;) {
        const next = nextTexts(intake, mostInARow);
        const came: CameText[] = [];
        for (const expected of next.marks) {
          const text = cameAs(expected, sandboxes[place], isMarked(place));
          if (!text) break;
          came.push(text);
          place++;
        }
        if (came.length > 0) next.take(came);
        if (came.length > 1) skippedInRows += came.length;
        skipped += came.length;
        // Those of the next page.
        if (came.length > 0 && came.length === next.marks.length) continue;
        const sandbox = sandboxes[place];
        if (sandbox && !isTaken(intake, sandbox, isMarked(place))) read.push(sandbox.sandboxId);
        place++;
      }
      return read;
    },
    get skippedInRows() {
      return skippedInRows;
    },
    get skipped() {
      return skipped;
    },
  };
  return reader;
}

function isSame(expected: TextMark | null, mark: TextMark): boolean {
  return (
    expected?.hash === mark.hash && expected.length === mark.length && expected.note === mark.note
  );
}

function isSteady(expected: TextMark | null, mark: TextMark): boolean {
  return mark.openStatuses !== "none" && expected?.steadyHash === mark.steadyHash;
}

function openIn({ sandboxId }: ListedSandbox): OpenStatuses {
  const ways = ["own_first", "own_last", "none"] as const;
  return ways[sandboxId.charCodeAt(sandboxId.length - 1) % ways.length] ?? "none";
}

/** In the order in which a text would have them. */
function statusesIn(sandbox: ListedSandbox): readonly Status[] {
  const ofServers = sandbox.servers.map(({ status }) => status);
  const all =
    openIn(sandbox) === "own_last"
      ? [...ofServers, sandbox.status]
      : [sandbox.status, ...ofServers];
  return all.filter((status) => status !== "unknown");
}
