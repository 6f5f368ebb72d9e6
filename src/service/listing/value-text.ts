import { type Buffer, isAscii, isUtf8 } from "node:buffer";
import type { JsonValue } from "../json.ts";
import { BodyFault } from "./body-fault.ts";

/** A shorter buffer holds a value or two, a longer one is rare: there each value is looked at alone. */
const wholeBytes = { least: 16 * 1024, most: 1024 * 1024 };

/** Makes text of parts of a buffer. */
export class ValueText {
  private known: Buffer | null = null;
  private isKnownAscii = false;

  /** Strict UTF-8: throws a BodyFault for what is none. */
  decode(bytes: Buffer, start: number, end: number): string {
    if (this.holdsOnlyAscii(bytes)) return bytes.toString("latin1", start, end);
    const value = bytes.subarray(start, end);
    if (isAscii(value)) return bytes.toString("latin1", start, end);
    if (isUtf8(value)) return bytes.toString("utf8", start, end);
    throw new BodyFault("invalid_body", "the body is not UTF-8");
  }

  private holdsOnlyAscii(bytes: Buffer): boolean {
    if (bytes.length < wholeBytes.least || bytes.length > wholeBytes.most) return false;
    if (this.known !== bytes) {
      this.known = bytes;
      this.isKnownAscii = isAscii(bytes);
    }
    return this.isKnownAscii;
  }
}

/** Undefined for what is no JSON. */
export function parseText(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
