import type { Buffer } from "node:buffer";
import type { ListingIntake, TextMark } from "../../core/listing-intake.ts";
import { notAnObject, notJson } from "./body-fault.ts";
import { createItemCutter, type IsKnown } from "./item-cutter.ts";
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
import type { ListingContent } from "./listing-content.ts";
import type { TextHash } from "./text-hash.ts";

export interface RootGrammarDeps {
  readonly intake: ListingIntake;
  readonly content: ListingContent;
  readonly hash: TextHash;
}

/** Follows a body from its first byte to its last, in whatever pieces it comes. */
export interface RootGrammar {
  /**
   * Reads on. Throws a BodyFault for what is no JSON, or no object.
   *
   * @param bytes from `start` on, they follow what was used before
   * @param isLast whether the body ends where the bytes end
   * @returns how far the bytes are used: less than all either for want of more bytes or of effort
   */
  read(bytes: Buffer, start: number, isLast: boolean): number;
  /** Reading stops where none is left. It is worth a byte of parsing, about 5 ns. */
  effort: number;
  /** How many unused bytes are wanted before it is worth reading on; 0 where any more will do. */
  readonly wanted: number;
  /** The root object is whole. */
  readonly isWhole: boolean;
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
const effortOf = { parse: 512, hash: 64 };
const cheapness = 16;

export function createRootGrammar({ intake, content, hash }: RootGrammarDeps): RootGrammar {
  const cutter = createItemCutter();
  let state: State = "start";
  let name = "";
  /** Of the first byte that is not used. */
  let offset = 0;
  /** Undefined: not asked for yet. */
  let expected: TextMark | null | undefined;
  let wanted = 0;
  let effort = 0;
  /** Where in the bytes at hand the item before ends; -1 for one that ended in others. */
  let itemEnd = -1;

  /** Of the text that was cut out last. */
  let textHash = 0n;

  const isKnown = (text: Buffer): boolean => {
    textHash = hash(text);
    return text[0] === openBrace && content.moved(text.length, textHash);
  };

  const cut = (bytes: Buffer, at: number, isLast: boolean, isKnownItem?: IsKnown) => {
    const found = cutter.cut(bytes, at, isLast, offset, isKnownItem);
    wanted = found ? 0 : cutter.wanted;
    if (found) effort -= found.end - at + effortOf.parse;
    return found;
  };

  const readStart = (bytes: Buffer, at: number, isLast: boolean): number => {
    if (offset === 0 && bytes[at] === byteOrderMark[0]) {
      if (bytes.length - at < byteOrderMark.length && !isLast) return -1;
      if (byteOrderMark.every((byte, index) => bytes[at + index] === byte)) return at + 3;
    }
    if (bytes[at] === openBrace) {
      state = "first_name";
      return at + 1;
    }
    const found = cut(bytes, at, isLast);
    if (found) throw notAnObject(found.value ?? null);
    return -1;
  };

  const readName = (bytes: Buffer, at: number, isLast: boolean): number => {
    if (bytes[at] !== quote) throw notJson(offset);
    const found = cut(bytes, at, isLast);
    if (!found) return -1;
    name = typeof found.value === "string" ? found.value : "";
    state = "colon";
    return found.end;
  };

  const readValue = (bytes: Buffer, at: number, isLast: boolean): number => {
    if (name === "local_sandboxes" && bytes[at] === openBracket) {
      content.begin();
      content.field(name, []);
      state = "first_item";
      return at + 1;
    }
    const found = cut(bytes, at, isLast);
    if (!found) return -1;
    content.field(name, found.value ?? null);
    state = "after_value";
    return found.end;
  };

  /** Whether the text at hand is the one expected; -1 while there is too little of it to tell. */
  const readExpected = (bytes: Buffer, at: number, mark: TextMark, isLast: boolean): number => {
    const end = at + mark.length;
    if (end > bytes.length && !isLast) return -1;
    // No object is the beginning of another: where the expected text ends, the item does.
    const isSame = bytes[end - 1] === closeBrace && hash(bytes.subarray(at, end)) === mark.hash;
    effort -= mark.length / cheapness + effortOf.hash;
    return isSame ? end : 0;
  };

  const readItem = (bytes: Buffer, at: number, isLast: boolean): number => {
    if (expected === undefined) expected = bytes[at] === openBrace ? intake.expected() : null;
    let end = 0;
    if (expected) {
      end = readExpected(bytes, at, expected, isLast);
      wanted = end < 0 ? expected.length : 0;
      if (end < 0) return -1;
      if (end > 0) content.same(expected);
      else expected = null;
    }
    if (end === 0) {
      if (itemEnd > 0) cutter.seen(bytes, itemEnd, at);
      const found = cut(bytes, at, isLast, isKnown);
      if (!found) return -1;
      ({ end } = found);
      if (found.value !== undefined)
        content.item(found.value, { length: end - at, hash: textHash });
    }
    expected = undefined;
    itemEnd = end;
    state = "after_item";
    return end;
  };

  const separate = (
    bytes: Buffer,
    at: number,
    next: State,
    close: number,
    after: State,
  ): number => {
    if (bytes[at] === comma) state = next;
    else if (bytes[at] === close) state = after;
    else throw notJson(offset);
    return at + 1;
  };

  const step = (bytes: Buffer, at: number, isLast: boolean): number => {
    switch (state) {
      case "start":
        return readStart(bytes, at, isLast);
      case "first_name":
        if (bytes[at] === closeBrace) return separate(bytes, at, "name", closeBrace, "end");
        return readName(bytes, at, isLast);
      case "name":
        return readName(bytes, at, isLast);
      case "colon":
        if (bytes[at] !== colon) throw notJson(offset);
        state = "value";
        return at + 1;
      case "value":
        return readValue(bytes, at, isLast);
      case "after_value":
        return separate(bytes, at, "name", closeBrace, "end");
      case "first_item":
        if (bytes[at] === closeBracket) {
          return separate(bytes, at, "item", closeBracket, "after_value");
        }
        return readItem(bytes, at, isLast);
      case "item":
        return readItem(bytes, at, isLast);
      case "after_item":
        return separate(bytes, at, "item", closeBracket, "after_value");
      case "end":
        throw notJson(offset);
    }
  };

  return {
    read(bytes, start, isLast) {
      let at = start;
      itemEnd = -1;
      const moveTo = (next: number): void => {
        offset += next - at;
        effort -= (next - at) / cheapness;
        at = next;
      };
      for (;;) {
        moveTo(skipSpace(bytes, at));
        if (effort <= 0 || at === bytes.length) return at;
        const next = step(bytes, at, isLast);
        if (next < 0) return at;
        moveTo(next);
      }
    },
    get effort() {
      return effort;
    },
    set effort(given) {
      effort = given;
    },
    get wanted() {
      return wanted;
    },
    get isWhole() {
      return state === "end";
    },
  };
}
