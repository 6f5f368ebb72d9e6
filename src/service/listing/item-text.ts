import { Buffer } from "node:buffer";
import type { OpenStatuses, TextMark } from "../../core/listing-intake.ts";
import type { Status } from "../../core/model.ts";
import type { JsonObject } from "../json.ts";
import { putStatusesBack } from "./put-statuses-back.ts";
import { SteadyText } from "./steady-text.ts";
import type { TextHash } from "./text-hash.ts";

/** By what the text of an item is known again, without what the reader wants to remember of it. */
export type TextHashes = Omit<TextMark, "note">;

/** With one of them the name of a field can be written that is not seen to be it. */
const escapedLetters = ["6", "7"].map((digit) => Buffer.from(`\\u00${digit}`));

/** The text of the item at hand, hashed once however often it is compared. */
export class ItemText {
  private readonly texts: TextHash;
  private readonly steady = new SteadyText();
  private text: Buffer = Buffer.alloc(0);
  private knownHash: bigint | null = null;
  /** Null: not made yet. */
  private hasForm: boolean | null = null;
  private knownSteadyHash: bigint | null = null;
  private isParsedFromForm = false;
  /** Whether the last text that was held against an expected one said the same. */
  private isLikely = true;

  constructor(hash: TextHash) {
    this.texts = hash;
  }

  /** Another item begins. */
  begin(): void {
    this.knownHash = this.knownSteadyHash = this.hasForm = null;
  }

  /** Texts of one item begin at one byte: one that is as long as the one before is the same. */
  set(text: Buffer): this {
    if (text.length !== this.text.length) this.begin();
    this.text = text;
    return this;
  }

  get length(): number {
    return this.text.length;
  }

  get hash(): bigint {
    return (this.knownHash ??= this.texts.of(this.text));
  }

  /** All that were replaced in the steady form, in the order of the text. */
  get statuses(): readonly Status[] {
    return this.steady.statuses;
  }

  /** Whether it differs from the text that was expected in nothing but what its hash leaves open. */
  saysSame({ steadyHash, openStatuses }: TextMark): boolean {
    if (steadyHash === 0n) return false;
    if (this.isLikely && this.hasForm === null && this.steady.guess(this.text)) {
      this.hasForm = true;
      if (steadyHash === this.steadyHash(openStatuses)) return true;
      this.hasForm = this.knownSteadyHash = null;
    }
    return (this.isLikely = steadyHash === this.steadyHash(openStatuses));
  }

  hashes(openStatuses: OpenStatuses): TextHashes {
    const { length, hash } = this;
    return { length, hash, steadyHash: this.steadyHash(openStatuses), openStatuses };
  }

  /** What is parsed instead: so it shows which statuses stand where in the form. */
  toParse(text: Buffer): Buffer {
    this.set(text);
    this.isParsedFromForm = this.makeForm() && !escapedLetters.some((each) => text.includes(each));
    return this.isParsedFromForm ? this.steady.form : text;
  }

  /** Makes of a value what the text itself says. */
  complete(value: JsonObject): OpenStatuses {
    return this.isParsedFromForm ? putStatusesBack(value, this.statuses) : "none";
  }

  private makeForm(): boolean {
    return (this.hasForm ??= this.steady.make(this.text));
  }

  private steadyHash(openStatuses: OpenStatuses): bigint {
    if (!this.makeForm()) return 0n;
    if (openStatuses === "none") return this.texts.of(this.steady.formAnd("statuses"));
    return (this.knownSteadyHash ??= this.texts.of(this.steady.formAnd("count")));
  }
}
