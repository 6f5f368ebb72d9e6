import { randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";
import xxhash from "xxhash-wasm";
import { counted } from "../fleet/text.ts";
import { problemText, wholeAnswer } from "../fleet/deviation.ts";
import type { Deviation } from "../fleet/deviation.ts";
import type { Slices } from "../fleet/slices.ts";
import type { Listing, Snapshot } from "../fleet/snapshot.ts";
import { createWalker, Deviations, shapeOf } from "./deviations.ts";
import type { JsonObject, JsonValue } from "./json-value.ts";
import {
  afterMark,
  BodyFault,
  closeBrace,
  colon,
  comma,
  decode,
  endOfString,
  endOfValue,
  endsTooEarly,
  invalidBody,
  notJson,
  openBrace,
  openBracket,
  parseText,
  quote,
  skipSpace,
  tooLarge,
  isArray,
  isObject,
} from "./json.ts";
import { CommonTexts, type Unkept } from "./parse-sandbox.ts";
import { ListingItems, pollsPerReread, type ReaderMemory, valueLimits } from "./listing-items.ts";
import { keptListingSchema } from "./schemas.ts";

export interface ReadListing {
  readonly kind: "read";
  readonly listing: Listing;
  /** Why it is partial, such as "total_count is null"; null: it is complete. Nothing in it is secret. */
  readonly partial: string | null;
  readonly deviations: readonly Deviation[];
  /** What it shows and cannot be kept, such as an item with an id that is too long. */
  readonly unkept: { readonly count: number; readonly first: readonly Unkept[] };
}

export type ListingOutcome =
  | ReadListing
  | ({ readonly kind: "refused"; readonly detail: string } & Pick<
      BodyFault,
      "reason" | "deviations"
    >);

export type ListingReader = Awaited<ReturnType<typeof createListingReader>>;

/**
 * Reads listings, one after another, of any number of targets. What it remembers of texts is in their snapshots, and
 * means something only to the reader that made it: its hash is seeded at random. It is not a cryptographic one: anyone
 * who writes two texts can give them the same hash.
 */
export async function createListingReader() {
  const hashes = await loading;
  const seed = randomBytes(8).readBigUInt64LE();
  const memory: ReaderMemory = {
    hash: (bytes) => hashes.h64Raw(bytes, seed),
    common: new CommonTexts(),
  };
  const wholes = new WeakMap<Snapshot, WholeBody>();
  return {
    /**
     * Reads a body, which must not change until the end.
     *
     * @param before what the listing is compared with
     * @param poll counts the polls of the target: at each, some texts are parsed though they are known
     */
    *read(body: Buffer, before: Snapshot, poll: number): Slices<ListingOutcome> {
      const known = wholes.get(before);
      const mayBeSame = known?.length === body.length && !isAnyReread(before, poll);
      if (mayBeSame && memory.hash(body) === known.hash) return known.read;
      try {
        const read = yield* readBody(body, before, poll, memory);
        if (isAllKnown(read.listing, before)) {
          const { sandboxes, texts } = before;
          const same = { ...read, listing: { ...read.listing, sandboxes, texts } };
          wholes.set(before, { length: body.length, hash: memory.hash(body), read: same });
        }
        return read;
      } catch (error) {
        if (!(error instanceof BodyFault)) throw error;
        const { reason, message: detail, deviations } = error;
        return { kind: "refused", reason, detail, deviations };
      }
    },
  };
}

/** A body that showed nothing but what was known. The same bytes mean the same, and are not cut into items. */
interface WholeBody {
  readonly length: number;
  readonly hash: bigint;
  readonly read: ReadListing;
}

/** Of more sandboxes, one is to be parsed again at almost every poll. */
const mostInWhole = 1_000;

function isAllKnown({ sandboxes, texts }: Listing, before: Snapshot): boolean {
  return (
    sandboxes.length <= mostInWhole &&
    sandboxes.length === before.sandboxes.length &&
    sandboxes.every((sandbox, at) => sandbox === before.sandboxes[at]) &&
    texts.every((text, at) => text !== null && text === before.texts[at])
  );
}

/** Whether one of its texts is to be parsed at this poll, though it is known. */
function isAnyReread({ texts }: Snapshot, poll: number): boolean {
  const at = poll % pollsPerReread;
  return texts.some((text) => text?.rereadAt === at);
}

// Not awaited here: `require` cannot wait for a module.
const loading = xxhash();

const listingWalker = createWalker(keptListingSchema);
/** In the root object. */
const maxFields = 10_000;
/** Lists of sandboxes. All are read; the last one is used. */
const maxLists = 100;
const listName = Buffer.from('"local_sandboxes"');

/** A list of sandboxes in a body: from its opening bracket to behind its closing one. */
interface Cut {
  readonly start: number;
  readonly end: number;
}

/**
 * Locates the lists of sandboxes by strings and brackets alone, and cuts them out. `JSON.parse` validates: the body is
 * JSON if each item is, and if the rest is with `[]` in place of each list. The result equals that of parsing the whole
 * body: where a list begins depends only on the text before it, and that text is validated as part of the rest.
 */
function* readBody(
  body: Buffer,
  before: Snapshot,
  poll: number,
  memory: ReaderMemory,
): Slices<ReadListing> {
  if (body.length === 0) throw invalidBody("is empty");
  const start = skipSpace(body, afterMark(body));
  if (body[start] !== openBrace) throw faultOfRoot(body, start);
  const cuts: Cut[] = [];
  let items: ListingItems | null = null;
  let at = skipSpace(body, start + 1);
  for (let fields = 1; body[at] === quote; fields++) {
    if (fields > maxFields) throw tooLarge(`the body holds more than ${maxFields} fields`);
    const nameEnd = endOfString(body, at);
    const colonAt = skipSpace(body, nameEnd);
    if (body[colonAt] !== colon) throw notJson(colonAt);
    const valueAt = skipSpace(body, colonAt + 1);
    let end: number;
    if (body[valueAt] === openBracket && isListName(body.subarray(at, nameEnd))) {
      if (cuts.length === maxLists) {
        throw tooLarge(`the body holds more than ${maxLists} lists of sandboxes`);
      }
      items = new ListingItems(body, valueAt + 1, before, memory, poll);
      while (!items.readSome()) yield;
      end = items.at;
      cuts.push({ start: valueAt, end });
    } else end = endOfValue(body, valueAt, valueLimits);
    at = skipSpace(body, end);
    if (body[at] === comma) at = skipSpace(body, at + 1);
  }
  if (body[at] !== closeBrace) throw at === body.length ? endsTooEarly() : notJson(at);
  const behind = skipSpace(body, at + 1);
  if (behind < body.length) throw notJson(behind);
  return judge(parseRest(body, start, cuts), items);
}

/** Of a body that is no object: it is no JSON, or JSON of another shape. */
function faultOfRoot(body: Buffer, start: number): BodyFault {
  const end = endOfValue(body, start, valueLimits);
  const value = parseText(decode(body.subarray(start, end)));
  if (value === undefined) return notJson(start);
  const behind = skipSpace(body, end);
  const deviation = { field: wholeAnswer, problem: "wrong_type", count: 1 } as const;
  return behind === body.length
    ? otherShape([{ ...deviation, example: shapeOf(value) }])
    : notJson(behind);
}

function otherShape(deviations: readonly Deviation[]): BodyFault {
  return new BodyFault("invalid_body", "the body does not have the expected shape", deviations);
}

function isListName(text: Buffer): boolean {
  if (!text.includes("\\")) return text.equals(listName);
  return parseText(text.toString("latin1")) === "local_sandboxes";
}

/** All but the lists, with `[]` in place of each. */
function parseRest(body: Buffer, start: number, cuts: readonly Cut[]): JsonObject {
  const pieces: Buffer[] = [];
  let at = start;
  for (const cut of cuts) {
    pieces.push(body.subarray(at, cut.start), Buffer.from("[]"));
    at = cut.end;
  }
  const rest = Buffer.concat([...pieces, body.subarray(at)]);
  if (rest.length > valueLimits.bytes) {
    throw tooLarge(`the body holds more than ${valueLimits.bytes} bytes apart from its sandboxes`);
  }
  const root = parseText(decode(rest));
  if (!isObject(root)) throw invalidBody("is not JSON (apart from its sandboxes)");
  return root;
}

/** @param items of the last list, which `JSON.parse` would keep too */
function judge(root: JsonObject, items: ListingItems | null): ReadListing {
  const deviations = new Deviations();
  listingWalker.compare(root, deviations);
  if (!isArray(root["local_sandboxes"]) || !items) throw otherShape(deviations.list());
  deviations.add(items.deviations.list());
  const { sandboxes, texts, unkept } = items;
  const totalCount = root["total_count"];
  const miscount = explainCount(totalCount, sandboxes.length + items.unkeptCount);
  // A `total_count` that is no integer was noted by the comparison.
  if (miscount !== null && Number.isInteger(totalCount)) {
    deviations.note("total_count", "mismatch", totalCount);
  }
  const reasons = [miscount, explainUnkept(unkept)].filter((reason) => reason !== null);
  const partial = reasons.length === 0 ? null : reasons.join("; ");
  return {
    kind: "read",
    listing: { sandboxes, texts, complete: partial === null },
    partial,
    deviations: deviations.list(),
    unkept,
  };
}

/** Why `total_count` does not confirm the number of distinct sandboxes; null where it does. */
function explainCount(totalCount: JsonValue | undefined, listed: number): string | null {
  if (totalCount === listed) return null;
  if (totalCount === undefined) return "total_count is missing";
  if (totalCount === null) return "total_count is null";
  return typeof totalCount === "number" && Number.isInteger(totalCount)
    ? `total_count is ${totalCount}, but the listing has ${counted(listed, "distinct sandbox", "distinct sandboxes")}`
    : `total_count is not a whole number (${shapeOf(totalCount)})`;
}

function explainUnkept({ count, first: [first] }: ReadListing["unkept"]): string | null {
  if (!first) return null;
  return `items or texts that cannot be kept: ${count}, such as ${describeUnkept(first)}`;
}

/** Such as "local_sandboxes[3].local_sandbox_id is longer than what is kept (text of 2,000 characters)". */
export function describeUnkept({ place, problem, found }: Unkept): string {
  return problemText({ field: place, problem, example: found });
}
