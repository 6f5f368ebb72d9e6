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
  /** Undefined: not made yet. */
  private knownForm: Buffer | null | undefined = undefined;
  private knownSteadyHash: bigint | null = null;
  private isParsedFromForm = false;

  constructor(hash: TextHash) {
    this.texts = hash;
  }

  /** Another item begins. */
  begin(): void {
    this.knownHash = this.knownSteadyHash = null;
    this.knownForm = undefined;
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
    return steadyHash !== 0n && steadyHash === this.steadyHash(openStatuses);
  }

  hashes(openStatuses: OpenStatuses): TextHashes {
    const { length, hash } = this;
    return { length, hash, steadyHash: this.steadyHash(openStatuses), openStatuses };
  }

  /** What is parsed instead: so it shows which statuses stand where in the form. */
  toParse(text: Buffer): Buffer {
    const { form } = this.set(text);
    this.isParsedFromForm = form !== null && !escapedLetters.some((each) => text.includes(each));
    return this.isParsedFromForm && form ? form : text;
  }

  /** Makes of a value what the text itself says. */
  complete(value: JsonObject): OpenStatuses {
    return this.isParsedFromForm ? putStatusesBack(value, this.statuses) : "none";
  }

  private get form(): Buffer | null {
    if (this.knownForm === undefined) this.knownForm = this.steady.of(this.text);
    return this.knownForm;
  }

  private steadyHash(openStatuses: OpenStatuses): bigint {
    const { form } = this;
    if (!form) return 0n;
    if (openStatuses === "none") return this.texts.of(this.steady.withStatuses());
    return (this.knownSteadyHash ??= this.texts.of(form));
  }
}
