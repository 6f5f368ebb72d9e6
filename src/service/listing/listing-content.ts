import { counted } from "../../core/counted.ts";
import type { CameTexts, ListingIntake } from "../../core/listing-intake.ts";
import { markField, markWords, noteIn } from "../../core/text-mark.ts";
import type { TextMark } from "../../core/text-mark.ts";
import { createDeviations, type Deviation } from "../deviations.ts";
import { isArray, isObject, type JsonValue } from "../json.ts";
import { resource } from "../resource.ts";
import { listingSchema } from "../schema.ts";
import { BodyFault, otherShape } from "./body-fault.ts";
import { summarizeUnkept } from "../unkept.ts";
import type { Unkept, UnkeptItems } from "../unkept.ts";
import { limits } from "./limits.ts";
import { fieldName, shapeOf } from "../value-shape.ts";
import type { ItemText, TextHashes } from "./item-text.ts";
import type { DeviationNotes } from "./deviation-notes.ts";
import type { ListingMemory } from "./listing-memory.ts";
import { readSandbox, sandboxesField, serversField } from "./read-sandbox.ts";

/** What a whole listing came to, beside what its intake took. */
export interface ListingSummary {
  /** False when something may be missing: `partial` says what. */
  readonly complete: boolean;
  /** Why the listing is partial, such as "total_count is null"; null: it is complete. */
  readonly partial: string | null;
  readonly unkept: UnkeptItems;
  readonly deviations: readonly Deviation[];
}

/** So many are told one by one; all are counted. */
const mostUnkept = 20;

export const promisedListing = resource(listingSchema, "");
const promisedFields: ReadonlySet<string> = new Set(Object.keys(listingSchema.shape));

/** Makes a listing of what the parts of a body say. */
export class ListingContent {
  private readonly intake: ListingIntake;
  private readonly notes: DeviationNotes;
  private readonly ofItems = createDeviations();
  // Counts without a limit to the names: which of them are told apart depends on the items before.
  private readonly ofItem = createDeviations(Number.POSITIVE_INFINITY);
  private readonly root = new Map<string, JsonValue>();
  /** Shapes by name: the values of fields that are not promised may be long. */
  private readonly unknownFields = new Map<string, string>();
  /** The first ones of so many. */
  private readonly unkept: Unkept[] = [];
  private unkeptCount = 0;
  private items = 0;
  private leftOut = 0;
  private hasBegun = false;
  private lists = 0;

  constructor(intake: ListingIntake, { notes }: Pick<ListingMemory, "notes">) {
    this.intake = intake;
    this.notes = notes;
  }

  /**
   * A list of sandboxes begins. It counts instead of one before.
   *
   * @returns whether what that one came to is given up
   */
  begin(): boolean {
    const isAnew = this.items > 0;
    if (this.hasBegun) this.intake.restart();
    this.hasBegun = true;
    if (isAnew) this.countList();
    this.ofItems.clear();
    this.unkept.length = this.unkeptCount = 0;
    this.items = this.leftOut = 0;
    return isAnew;
  }

  /** So many items came with texts that were expected, or say the same but for what their marks leave open. */
  takeTexts(count: number, texts: CameTexts): void {
    this.countItems(count);
    this.intake.takeTexts(count, texts);
    for (let at = 0; at < count; at++) {
      this.remarkAgain(noteIn(texts.marks[at * markWords + markField.note] ?? 0));
    }
  }

  /** An item came with another text. False when it must be parsed; else it is done with. */
  moved(length: number, hash: bigint): boolean {
    const mark = this.intake.moved(length, hash);
    if (!mark) return false;
    this.countItems(1);
    this.remarkAgain(mark.note);
    return true;
  }

  /** An item was parsed. */
  item(value: JsonValue, text: ItemText): void {
    const { ofItem, ofItems } = this;
    this.countItems(1);
    if (!ofItem.isEmpty) ofItem.clear();
    const open = isObject(value) ? text.complete(value) : "none";
    const read = readSandbox(value, `local_sandboxes[${this.items - 1}]`, ofItem, this.onUnkept);
    if (!ofItem.isEmpty) ofItems.add(ofItem.list());
    if (!read) {
      this.leftOut++;
      return;
    }
    // Where one was left out, or was there twice, what was taken are not the text's servers in their order.
    const isAsListed =
      listLength(isObject(value) ? value["servers"] : undefined) === read.sandbox.servers.length;
    const hashes = text.hashes(isAsListed ? open : "none");
    const twin = this.intake.listed(read.sandbox, this.markOf(hashes, read.complete));
    if (!twin) return;
    if (twin.together > limits.twinServers) throw tooManyTwinServers();
    ofItems.note(`${sandboxesField}.local_sandbox_id`, "duplicate");
    if (twin.servers > 0) ofItems.note(`${serversField}.id`, "duplicate", undefined, twin.servers);
  }

  /** A field of the root object; of a list of sandboxes the value is any array. */
  field(name: string, value: JsonValue): void {
    const { root, unknownFields } = this;
    if (promisedFields.has(name)) root.set(name, value);
    else unknownFields.set(name, shapeOf(value));
    if (root.size + unknownFields.size <= limits.rootFields) return;
    throw new BodyFault("too_large", `the body holds more than ${limits.rootFields} fields`);
  }

  /** The root object is whole. Throws a BodyFault where it is no listing. */
  end(): ListingSummary {
    const body = Object.fromEntries(this.root);
    const totalCount = body["total_count"];
    // What is said of the listing comes first, wherever in the body its items stand.
    const deviations = createDeviations();
    for (const [name, example] of this.unknownFields) {
      deviations.add([{ field: fieldName(name), problem: "unknown_field", count: 1, example }]);
    }
    promisedListing.compare(body, deviations);
    if (!isArray(body["local_sandboxes"])) throw otherShape(deviations.list());
    deviations.add(this.ofItems.list());
    const listed = this.intake.sandboxCount + this.leftOut;
    const miscount = explainCount(totalCount, listed);
    // One that cannot be read was noted by the comparison above.
    if (miscount !== null && Number.isInteger(totalCount)) {
      deviations.note("total_count", "mismatch", totalCount);
    }
    const unkept = { count: this.unkeptCount, first: [...this.unkept] };
    const reasons = [miscount, summarizeUnkept(unkept)].filter((each) => each !== null);
    const partial = reasons.length === 0 ? null : reasons.join("; ");
    return { complete: partial === null, partial, unkept, deviations: deviations.list() };
  }

  private countList(): void {
    this.lists++;
    if (this.lists < limits.lists) return;
    throw new BodyFault("too_large", `the body holds more than ${limits.lists} lists of sandboxes`);
  }

  private countItems(count: number): void {
    this.items += count;
    if (this.items <= limits.items) return;
    throw new BodyFault("too_large", `the listing holds more than ${limits.items} items`);
  }

  private remarkAgain(note: number): void {
    if (note === 0) return;
    const remarks = this.notes.get(note);
    this.ofItems.add(remarks.deviations);
  }

  private readonly onUnkept = (unkept: Unkept): void => {
    this.unkeptCount++;
    if (this.unkept.length < mostUnkept) this.unkept.push(unkept);
  };

  /** One of which not all could be kept is read again each time, so that its place is known. */
  private markOf(hashes: TextHashes, isWhole: boolean): TextMark | null {
    if (!isWhole) return null;
    const { ofItem } = this;
    const note = ofItem.isEmpty ? 0 : this.notes.numberOf({ deviations: ofItem.list() });
    return note === null ? null : { ...hashes, note };
  }
}

function tooManyTwinServers(): BodyFault {
  const most = limits.twinServers;
  return new BodyFault(
    "too_large",
    `a sandbox that comes more than once holds more than ${most} servers`,
  );
}

/** Why `total_count` does not confirm the number of distinct sandboxes; null where it does. */
function explainCount(totalCount: JsonValue | undefined, listed: number): string | null {
  if (totalCount === listed) return null;
  if (totalCount === undefined) return "total_count is missing";
  if (typeof totalCount === "number" && Number.isInteger(totalCount)) {
    return `total_count is ${totalCount}, but ${counted(listed, "distinct sandbox", "distinct sandboxes")} came`;
  }
  return totalCount === null
    ? "total_count is null"
    : `total_count is not a whole number (${shapeOf(totalCount)})`;
}

function listLength(value: JsonValue | undefined): number {
  return isArray(value) ? value.length : 0;
}
