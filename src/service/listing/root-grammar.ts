import type { Buffer } from "node:buffer";
import type { ListingIntake } from "../../core/listing-intake.ts";
import { markField } from "../../core/text-mark.ts";
import { notAnObject, notJson } from "./body-fault.ts";
import { type CutValue, ItemCutter, type ValueTexts } from "./item-cutter.ts";
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "../json-bytes.ts";
import { Expectation } from "./expectation.ts";
import { ItemText } from "./item-text.ts";
import type { ListingContent } from "./listing-content.ts";
import type { TextRoom } from "./text-room.ts";

export interface RootGrammarDeps {
  readonly intake: ListingIntake;
  readonly content: ListingContent;
  readonly texts: TextRoom;
}

/** What the next byte that is no space belongs to. */
type State =
  | "start"
  | "first_name"
  | "name"
  | "colon"
  | "value"
  | "after_value"
  | "first_item"
  | "item"
  | "after_item"
  | "end";

const byteOrderMark = [0xef, 0xbb, 0xbf];
/** What a step costs beside its bytes, in bytes of parsing. */
const effortOf = { parse: 512, hash: 64, steady: 512 };
const cheapness = 16;

/** Follows a body from its first byte to its last, in whatever pieces it comes. */
export class RootGrammar implements ValueTexts {
  /** Reading stops where none is left. It is worth a byte of parsing, about 5 ns. */
  effort = 0;
  /** Whether reading stopped for want of bytes. */
  isStuck = false;
  /** How many unused bytes are wanted before it is worth reading on; 0 where any more will do. */
  wanted = 0;
  private readonly intake: ListingIntake;
  private readonly content: ListingContent;
  private readonly texts: TextRoom;
  private readonly text: ItemText;
  private readonly cutter = new ItemCutter();
  private readonly expectation = new Expectation();
  private state: State = "start";
  private name = "";
  /** Of the first byte that is not used. */
  private offset = 0;
  /** The item is none that is expected. */
  private isOther = false;
  /** Where in the bytes at hand the item before ends; -1 for one that ended in others. */
  private itemEnd = -1;

  constructor({ intake, content, texts }: RootGrammarDeps) {
    this.intake = intake;
    this.content = content;
    this.texts = texts;
    this.text = new ItemText(texts);
  }

  /** The root object is whole. */
  get isWhole(): boolean {
    return this.state === "end";
  }

  /**
   * Reads on. Throws a BodyFault for what is no JSON, or no object.
   *
   * @param bytes from `start` on, they follow what was used before
   * @param isLast whether the body ends where the bytes end
   * @returns how far the bytes are used: less than all either for want of more bytes or of effort
   */
  read(bytes: Buffer, start: number, isLast: boolean): number {
    let at = start;
    this.itemEnd = -1;
    // Others read their texts in the same room.
    this.texts.open(bytes);
    this.text.begin();
    for (;;) {
      at = this.moveTo(at, skipSpace(bytes, at));
      this.isStuck = at === bytes.length;
      if (this.effort <= 0 || this.isStuck) return at;
      const next = this.step(bytes, at, isLast);
      this.isStuck = next < 0;
      if (this.isStuck) return at;
      at = this.moveTo(at, next);
    }
  }

  private moveTo(at: number, next: number): number {
    this.offset += next - at;
    this.effort -= (next - at) / cheapness;
    return next;
  }

  private step(bytes: Buffer, at: number, isLast: boolean): number {
    switch (this.state) {
      case "start":
        return this.readStart(bytes, at, isLast);
      case "first_name":
        if (bytes[at] === closeBrace) return this.separate(bytes, at, "name", closeBrace, "end");
        return this.readName(bytes, at, isLast);
      case "name":
        return this.readName(bytes, at, isLast);
      case "colon":
        if (bytes[at] !== colon) throw notJson(this.offset);
        this.state = "value";
        return at + 1;
      case "value":
        return this.readValue(bytes, at, isLast);
      case "after_value":
        return this.separate(bytes, at, "name", closeBrace, "end");
      case "first_item":
        if (bytes[at] === closeBracket) {
          return this.separate(bytes, at, "item", closeBracket, "after_value");
        }
        return this.readItem(bytes, at, isLast);
      case "item":
        return this.readItem(bytes, at, isLast);
      case "after_item":
        return this.separate(bytes, at, "item", closeBracket, "after_value");
      case "end":
        throw notJson(this.offset);
    }
  }

  private readStart(bytes: Buffer, at: number, isLast: boolean): number {
    if (this.offset === 0 && bytes[at] === byteOrderMark[0]) {
      if (bytes.length - at < byteOrderMark.length && !isLast) return -1;
      if (byteOrderMark.every((byte, index) => bytes[at + index] === byte)) return at + 3;
    }
    if (bytes[at] === openBrace) {
      this.state = "first_name";
      return at + 1;
    }
    const found = this.cut(bytes, at, isLast);
    if (found) throw notAnObject(found.value ?? null);
    return -1;
  }

  private readName(bytes: Buffer, at: number, isLast: boolean): number {
    if (bytes[at] !== quote) throw notJson(this.offset);
    const found = this.cut(bytes, at, isLast);
    if (!found) return -1;
    this.name = typeof found.value === "string" ? found.value : "";
    this.state = "colon";
    return found.end;
  }

  private readValue(bytes: Buffer, at: number, isLast: boolean): number {
    if (this.name === "local_sandboxes" && bytes[at] === openBracket) {
      // To compare it with what is known begins anew, too: that is enough for a turn.
      if (this.content.begin()) this.effort = 0;
      this.itemEnd = -1;
      this.content.field(this.name, []);
      this.state = "first_item";
      return at + 1;
    }
    const found = this.cut(bytes, at, isLast);
    if (!found) return -1;
    this.content.field(this.name, found.value ?? null);
    this.state = "after_value";
    return found.end;
  }

  /** Of an item's text: whether it is taken over unparsed, as that of another place. */
  isKnown(bytes: Buffer, start: number, end: number): boolean {
    if (bytes[start] !== openBrace) return false;
    const { length, hash } = this.text.set(start, end);
    const isMoved = this.content.moved(length, hash);
    this.expectation.sought(isMoved);
    return isMoved;
  }

  toParse(bytes: Buffer, start: number, end: number): Buffer {
    const text = bytes.subarray(start, end);
    return text[0] === openBrace && this.text.set(start, end).showsStatuses(text)
      ? this.texts.form
      : text;
  }

  private readItem(bytes: Buffer, at: number, isLast: boolean): number {
    let end = this.isOther ? 0 : this.readExpected(bytes, at, isLast);
    if (end === 0) end = this.readOther(bytes, at, isLast);
    if (end < 0) return -1;
    this.itemEnd = end;
    this.state = "after_item";
    return end;
  }

  /**
   * Takes the items that come as they are expected, one after another.
   *
   * @returns where the last one ends; 0 for none, -1 while there is too little of the first one to tell
   */
  private readExpected(bytes: Buffer, at: number, isLast: boolean): number {
    const { texts, intake, expectation } = this;
    if (!expectation.mayCome()) return 0;
    const expected = intake.expectedTexts(texts.marks, expectation.isInOrder ? texts.most : 1);
    if (expected === 0) return 0;
    const { withForms } = expectation;
    const length = texts.marks[markField.length] ?? 0;
    const count = texts.countKnown(at, expected, { withForms, isLast });
    const looked = count > 0 ? texts.knownEnd - at : Math.min(length, bytes.length - at);
    const forms = withForms ? texts.others + 1 : 0;
    this.effort -= looked / cheapness + (count + 1) * effortOf.hash + forms * effortOf.steady;
    this.wanted = count === 0 ? texts.lacking : 0;
    if (this.wanted > 0) return -1;
    if (count === 0) {
      expectation.missed(length);
      return 0;
    }
    expectation.came();
    this.content.takeTexts(count, texts);
    return texts.knownEnd;
  }

  private readOther(bytes: Buffer, at: number, isLast: boolean): number {
    if (!this.isOther) this.text.begin();
    this.isOther = true;
    if (this.itemEnd > 0) this.cutter.seen(bytes, this.itemEnd, at);
    const found = this.cut(bytes, at, isLast, this);
    if (!found) return -1;
    if (found.value !== undefined) this.content.item(found.value, this.text);
    this.isOther = false;
    return found.end;
  }

  private cut(bytes: Buffer, at: number, isLast: boolean, texts?: ValueTexts): CutValue | null {
    const found = this.cutter.cut(bytes, at, isLast, this.offset, texts);
    this.wanted = found ? 0 : this.cutter.wanted;
    if (!found) return null;
    const isKnown = found.value === undefined;
    this.effort -= isKnown ? effortOf.steady : found.end - at + effortOf.parse;
    return found;
  }

  private separate(bytes: Buffer, at: number, next: State, close: number, after: State): number {
    if (bytes[at] === comma) this.state = next;
    else if (bytes[at] === close) this.state = after;
    else throw notJson(this.offset);
    return at + 1;
  }
}
