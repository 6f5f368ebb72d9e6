import type { ListingIntake, TextMark } from "../../core/listing-intake.ts";
import { createDeviations, type Deviation } from "../deviations.ts";
import { isArray, isObject, type JsonValue } from "../json.ts";
import { noteItem } from "../read-value.ts";
import { resource } from "../resource.ts";
import { listingSchema } from "../schema.ts";
import { BodyFault, otherShape } from "./body-fault.ts";
import { limits } from "./limits.ts";
import { fieldName, shapeOf } from "../value-shape.ts";
import type { ListingMemory } from "./listing-memory.ts";
import { readSandbox, sandboxesField, serversField } from "./read-sandbox.ts";

/** What a whole listing came to, beside what its intake took. */
export interface ListingSummary {
  /**
   * False when something may be missing: an item without a usable identity was left out, or
   * `total_count` tells of another number of sandboxes.
   */
  readonly complete: boolean;
  readonly deviations: readonly Deviation[];
}

/** By what the text of an item is known again: its length in bytes, and its hash. */
export type ItemText = Omit<TextMark, "note">;

/** Makes a listing of what the parts of a body say. */
export interface ListingContent {
  /** A list of sandboxes begins. It counts instead of one before. */
  begin(): void;
  /** The item expected next came with the same text as last time. */
  same(mark: TextMark): void;
  /** An item came with another text. False when it must be parsed; else it is done with. */
  moved(length: number, hash: bigint): boolean;
  /** An item was parsed. */
  item(value: JsonValue, text: ItemText): void;
  /** A field of the root object; of a list of sandboxes the value is any array. */
  field(name: string, value: JsonValue): void;
  /** The root object is whole. Throws a BodyFault where it is no listing. */
  end(): ListingSummary;
}

export const promisedListing = resource(listingSchema, "");

export function createListingContent(
  intake: ListingIntake,
  { notes }: Pick<ListingMemory, "notes">,
): ListingContent {
  const ofItems = createDeviations();
  // Counts without a limit to the names: which of them are told apart depends on the items before.
  const ofItem = createDeviations(Number.POSITIVE_INFINITY);
  const root = new Map<string, JsonValue>();
  /** Shapes by name: the values of fields that are not promised may be long. */
  const unknownFields = new Map<string, string>();
  let complete = true;
  let items = 0;
  let leftOut = 0;
  let hasBegun = false;

  const countItem = (): void => {
    items++;
    if (items <= limits.items) return;
    throw new BodyFault("too_large", `the listing holds more than ${limits.items} items`);
  };

  const remarkAgain = ({ note }: TextMark): void => {
    if (note === 0) return;
    const remarks = notes.get(note);
    ofItems.add(remarks.deviations);
    complete &&= remarks.complete;
  };

  const markOf = (text: ItemText, isWhole: boolean): TextMark | null => {
    const isPlain = isWhole && ofItem.isEmpty;
    const note = isPlain ? 0 : notes.numberOf({ deviations: ofItem.list(), complete: isWhole });
    return note === null ? null : { ...text, note };
  };

  return {
    begin() {
      if (hasBegun) intake.restart();
      hasBegun = true;
      ofItems.clear();
      complete = true;
      items = leftOut = 0;
    },
    same(mark) {
      countItem();
      intake.same();
      remarkAgain(mark);
    },
    moved(length, hash) {
      const mark = intake.moved(length, hash);
      if (!mark) return false;
      countItem();
      remarkAgain(mark);
      return true;
    },
    item(value, text) {
      countItem();
      if (!isObject(value)) {
        noteItem(value, sandboxesField, ofItems);
        leftOut++;
        return;
      }
      if (!ofItem.isEmpty) ofItem.clear();
      const read = readSandbox(value, ofItem);
      if (!ofItem.isEmpty) ofItems.add(ofItem.list());
      if (!read) {
        leftOut++;
        return;
      }
      complete &&= read.complete;
      const twin = intake.listed(read.sandbox, markOf(text, read.complete));
      if (!twin) return;
      ofItems.note(`${sandboxesField}.local_sandbox_id`, "duplicate");
      if (twin.servers > 0)
        ofItems.note(`${serversField}.id`, "duplicate", undefined, twin.servers);
    },
    field(name, value) {
      if (Object.hasOwn(listingSchema.shape, name)) root.set(name, value);
      else unknownFields.set(name, shapeOf(value));
      if (root.size + unknownFields.size <= limits.rootFields) return;
      throw new BodyFault("too_large", `the body holds more than ${limits.rootFields} fields`);
    },
    end() {
      const body = Object.fromEntries(root);
      const totalCount = body["total_count"];
      // What is said of the listing comes first, wherever in the body its items stand.
      const deviations = createDeviations();
      for (const [name, example] of unknownFields) {
        deviations.add([{ field: fieldName(name), problem: "unknown_field", count: 1, example }]);
      }
      promisedListing.compare(body, deviations);
      if (!isArray(body["local_sandboxes"]) || !Number.isInteger(totalCount)) {
        throw otherShape(deviations.list());
      }
      deviations.add(ofItems.list());
      const isCounted = totalCount === intake.sandboxCount + leftOut;
      if (!isCounted) deviations.note("total_count", "mismatch", totalCount);
      return { complete: complete && leftOut === 0 && isCounted, deviations: deviations.list() };
    },
  };
}
