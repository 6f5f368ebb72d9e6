import { Buffer } from "node:buffer";
import type { OpenStatuses, TextMark } from "../../core/text-mark.ts";
import type { JsonObject } from "../json.ts";
import { putStatusesBack } from "./put-statuses-back.ts";
import type { TextRoom } from "./text-room.ts";

/** By what the text of an item is known again, without what the reader wants to remember of it. */
export type TextHashes = Omit<TextMark, "note">;

/** With one of them the name of a field can be written that is not seen to be it. */
const escapedLetters = ["6", "7"].map((digit) => Buffer.from(`\\u00${digit}`));

/** The text of the item at hand, hashed once however often it is compared. */
export class ItemText {
  private readonly texts: TextRoom;
  private start = 0;
  private end = 0;
  private knownHash: bigint | null = null;
  /** Null: not made yet. */
  private hasForm: boolean | null = null;
  private isParsedFromForm = false;

  constructor(texts: TextRoom) {
    this.texts = texts;
  }

  /** Another item begins, or the same one in other bytes. */
  begin(): void {
    this.knownHash = this.hasForm = null;
  }

  /** Texts of one item begin at one byte: one that is as long as the one before is the same. */
  set(start: number, end: number): this {
    if (end - start !== this.length) this.begin();
    this.start = start;
    this.end = end;
    return this;
  }

  get length(): number {
    return this.end - this.start;
  }

  get hash(): bigint {
    return (this.knownHash ??= this.texts.hash(this.start, this.end));
  }

  hashes(openStatuses: OpenStatuses): TextHashes {
    const { length, hash } = this;
    const steadyHash = this.steadyHash(openStatuses);
    const steadyLength = steadyHash === 0n ? 0 : this.texts.formLength;
    return { length, hash, steadyHash, steadyLength, openStatuses };
  }

  /** Whether the steady form is parsed in place of the text: so it is seen which statuses stand where. */
  showsStatuses(text: Buffer): boolean {
    this.isParsedFromForm = this.makeForm() && !escapedLetters.some((each) => text.includes(each));
    return this.isParsedFromForm;
  }

  /** Makes of a value what the text itself says. */
  complete(value: JsonObject): OpenStatuses {
    return this.isParsedFromForm ? putStatusesBack(value, this.texts.formStatuses) : "none";
  }

  private makeForm(): boolean {
    return (this.hasForm ??= this.texts.makeForm(this.start, this.end));
  }

  private steadyHash(openStatuses: OpenStatuses): bigint {
    if (!this.makeForm()) return 0n;
    return this.texts.hashForm(openStatuses === "none" ? "statuses" : "count");
  }
}
