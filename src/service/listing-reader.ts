import { randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";
import xxhash from "xxhash-wasm";
import { counted } from "../fleet/counted.ts";
import type { Slices } from "../fleet/slices.ts";
import type { Listing, Snapshot } from "../fleet/snapshot.ts";
import { createDeviations, type Deviation } from "./deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";
import {
  backslash,
  closeBrace,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "./json-bytes.ts";
import { CommonTexts } from "./listed-sandbox.ts";
import {
  endsTooEarly,
  ListingFault,
  type ListingRefusal,
  notAnObject,
  notJson,
  otherShape,
  tooLarge,
} from "./listing-fault.ts";
import { ListingItems, type ReaderMemory } from "./listing-items.ts";
import { DeviationNotes } from "./deviation-notes.ts";
import { decode, endOfString, endOfValue, parseText, valueLimits } from "./listing-scan.ts";
import { keptListingSchema } from "./schemas.ts";
import { summarizeUnkept, type UnkeptItems } from "./unkept.ts";
import { shapeOf } from "./value-shape.ts";
import { createWalker } from "./walker.ts";

export interface ReadListing {
  readonly kind: "read";
  readonly listing: Listing;
  /** Why it is partial, such as "total_count is null"; null: it is complete. Nothing in it is secret. */
  readonly partial: string | null;
  readonly deviations: readonly Deviation[];
  /** What it shows and cannot be kept, such as an item with an id that is too long. */
  readonly unkept: UnkeptItems;
}

export type ListingOutcome = ReadListing | ({ readonly kind: "refused" } & ListingRefusal);

export interface ListingReader {
  /**
   * Reads a body, which must stay as it is until the end.
   *
   * @param before what the listing is compared with, and will be taken in beside
   * @param poll counts the polls of the target: at each, some texts are parsed though they are known
   */
  read(body: Buffer, before: Snapshot, poll: number): Slices<ListingOutcome>;
}

/**
 * Reads listings, one after another, of as many targets as there are. What it remembers of texts is in their
 * snapshots, and means something only to the reader that made it. Its hash is seeded at random: what two readers make
 * of a text never agrees but by chance. It is no cryptographic one: who writes two texts can make them share one.
 */
export async function createListingReader(): Promise<ListingReader> {
  const hashes = await loading;
  const seed = randomBytes(8).readBigUInt64LE();
  const memory: ReaderMemory = {
    hash: (bytes) => hashes.h64Raw(bytes, seed),
    notes: new DeviationNotes(),
    common: new CommonTexts(),
  };
  return { read: (body, before, poll) => readListing(body, before, poll, memory) };
}

// Not awaited here: who requires a module cannot wait for it to load.
const loading = xxhash();

const listingWalker = createWalker(keptListingSchema);
const limits = {
  /** Of sandboxes: the last one counts, and each is read. */
  lists: 100,
  /** Of the root object. */
  fields: 10_000,
};
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const listName = Buffer.from('"local_sandboxes"');

function* readListing(
  body: Buffer,
  before: Snapshot,
  poll: number,
  memory: ReaderMemory,
): Slices<ListingOutcome> {
  try {
    return yield* new BodyReader(body, before, poll, memory).read();
  } catch (error) {
    if (!(error instanceof ListingFault)) throw error;
    return { kind: "refused", ...error.refusal };
  }
}

/** A list of sandboxes in a body: from its opening bracket to behind its closing one. */
interface Cut {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads one body. The lists of sandboxes are located leniently, by looking at strings and brackets alone, and cut out.
 * `JSON.parse` judges: the body is JSON if each item is, and the rest with `[]` in place of each list. For where a list
 * begins depends only on what stands before it, which is part of the rest: if that is JSON, strings and brackets in it
 * were seen as they are. So what comes of a body is what comes of parsing it as a whole.
 */
class BodyReader {
  private readonly body: Buffer;
  private readonly before: Snapshot;
  private readonly poll: number;
  private readonly memory: ReaderMemory;
  private readonly cuts: Cut[] = [];
  /** Of the last list: it counts, as it does for `JSON.parse`. */
  private items: ListingItems | null = null;

  constructor(body: Buffer, before: Snapshot, poll: number, memory: ReaderMemory) {
    this.body = body;
    this.before = before;
    this.poll = poll;
    this.memory = memory;
  }

  *read(): Slices<ListingOutcome> {
    const { body, cuts } = this;
    if (body.length === 0) throw new ListingFault("invalid_body", "the body is empty");
    const hasMark = body.subarray(0, byteOrderMark.length).equals(byteOrderMark);
    const first = skipSpace(body, hasMark ? byteOrderMark.length : 0);
    if (body[first] !== openBrace) throw this.otherRoot(first);
    let at = first + 1;
    for (let fields = 0; ;) {
      at = skipSpace(body, at);
      if (body[at] === comma) {
        at++;
        continue;
      }
      // The end of the object, or what is no JSON: both are for the parser to judge.
      if (body[at] !== quote) break;
      if (++fields > limits.fields) {
        throw tooLarge(`the body holds more than ${limits.fields} fields`);
      }
      const nameEnd = endOfString(body, at);
      if (nameEnd < 0) throw endsTooEarly();
      const colonAt = skipSpace(body, nameEnd);
      if (body[colonAt] !== colon) break;
      const start = skipSpace(body, colonAt + 1);
      if (body[start] === openBracket && isListName(body.subarray(at, nameEnd))) {
        if (cuts.length === limits.lists) {
          throw tooLarge(`the body holds more than ${limits.lists} lists of sandboxes`);
        }
        const items = new ListingItems(body, start + 1, this.before, this.memory, this.poll);
        while (!items.readSome()) yield;
        this.items = items;
        cuts.push({ start, end: items.at });
        at = items.at;
      } else {
        at = endOfValue(body, start);
        if (at < 0) throw endsTooEarly();
        if (at === start) break;
      }
    }
    if (body[at] !== closeBrace) throw at === body.length ? endsTooEarly() : notJson(at);
    const behind = skipSpace(body, at + 1);
    if (behind < body.length) throw notJson(behind);
    return this.judge(first);
  }

  /** Of a body that is no object: it is no JSON, or JSON of another shape. */
  private otherRoot(start: number): ListingFault {
    const { body } = this;
    if (start === body.length) return endsTooEarly();
    const end = endOfValue(body, start);
    if (end < 0) return endsTooEarly();
    const value = parseText(decode(body.subarray(start, end)));
    if (value === undefined) return notJson(start);
    const behind = skipSpace(body, end);
    return behind === body.length ? notAnObject(value) : notJson(behind);
  }

  private judge(start: number): ReadListing {
    const root = this.parseRest(start);
    // What is said of the listing comes first, wherever in the body its items stand.
    const deviations = createDeviations();
    listingWalker.compare(root, deviations);
    const { items } = this;
    if (!isArray(root["local_sandboxes"]) || !items) throw otherShape(deviations.list());
    deviations.add(items.deviations.list());
    const totalCount = root["total_count"];
    const listed = items.sandboxes.length + items.leftOut;
    const miscount = explainCount(totalCount, listed);
    // One that cannot be read was noted by the comparison.
    if (miscount !== null && Number.isInteger(totalCount)) {
      deviations.note("total_count", "mismatch", totalCount);
    }
    const { sandboxes, texts } = items;
    const unkept = { count: items.unkeptCount, first: items.firstUnkept };
    const reasons = [miscount, summarizeUnkept(unkept)].filter((reason) => reason !== null);
    const partial = reasons.length === 0 ? null : reasons.join("; ");
    return {
      kind: "read",
      listing: { sandboxes, texts, complete: partial === null },
      partial,
      deviations: deviations.list(),
      unkept,
    };
  }

  /** All but the lists, with `[]` in place of each. */
  private parseRest(start: number): JsonObject {
    const { body, cuts } = this;
    const pieces: Buffer[] = [];
    let at = start;
    for (const cut of cuts) {
      pieces.push(body.subarray(at, cut.start), Buffer.from("[]"));
      at = cut.end;
    }
    pieces.push(body.subarray(at));
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (length > valueLimits.bytes) {
      throw tooLarge(`the body holds more than ${valueLimits.bytes} bytes beside its sandboxes`);
    }
    const root = parseText(decode(Buffer.concat(pieces, length)));
    if (!isObject(root)) {
      throw new ListingFault("invalid_body", "the body is not JSON (beside its sandboxes)");
    }
    return root;
  }
}

function isListName(text: Buffer): boolean {
  if (!text.includes(backslash)) return text.equals(listName);
  return parseText(text.toString("latin1")) === "local_sandboxes";
}

/** Why `total_count` does not confirm the number of distinct sandboxes; null where it does. */
function explainCount(totalCount: JsonValue | undefined, listed: number): string | null {
  if (totalCount === listed) return null;
  if (totalCount === undefined) return "total_count is missing";
  if (totalCount === null) return "total_count is null";
  return typeof totalCount === "number" && Number.isInteger(totalCount)
    ? `total_count is ${totalCount}, but ${counted(listed, "distinct sandbox", "distinct sandboxes")} came`
    : `total_count is not a whole number (${shapeOf(totalCount)})`;
}
