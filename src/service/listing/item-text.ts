import { Buffer } from "node:buffer";
import type { TextMark } from "../../core/listing-intake.ts";
import { SteadyText } from "./steady-text.ts";
import type { TextHash } from "./text-hash.ts";

/** By what the text of an item is known again, without what the reader wants to remember of it. */
export type TextHashes = Omit<TextMark, "note">;

/** The text of the item at hand, hashed once however often it is compared. */
export class ItemText {
  private readonly hashOf: TextHash;
  private readonly steady = new SteadyText();
  private text: Buffer = Buffer.alloc(0);
  private knownHash: bigint | null = null;
  private knownSteadyHash: bigint | null = null;

  constructor(hash: TextHash) {
    this.hashOf = hash;
  }

  /** Another item begins. */
  begin(): void {
    this.knownHash = this.knownSteadyHash = null;
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
    return (this.knownHash ??= this.hashOf(this.text));
  }

  /** Whether it differs in times of updates alone from the text, as long as it, that was expected. */
  saysSame({ steadyHash }: TextMark): boolean {
    if (this.knownSteadyHash === null) {
      const steady = this.steady.of(this.text);
      this.knownSteadyHash = steady ? this.hashOf(steady) : 0n;
    }
    return steadyHash !== 0n && steadyHash === this.knownSteadyHash;
  }

  /** Without times of updates it is hashed from when a text first came that may differ in them alone. */
  hashes(): TextHashes {
    const { length, hash } = this;
    return { length, hash, steadyHash: this.knownSteadyHash ?? 0n };
  }
}
