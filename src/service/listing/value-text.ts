import { type Buffer, isAscii, isUtf8 } from "node:buffer";
import type { JsonValue } from "../json.ts";
import { BodyFault } from "./body-fault.ts";

/** Makes text of parts of a buffer. */
export interface ValueText {
  /** Strict UTF-8: throws a BodyFault for what is none. */
  decode(bytes: Buffer, start: number, end: number): string;
}

/** A shorter buffer holds a value or two, a longer one is rare: there each value is looked at alone. */
const wholeBytes = { least: 16 * 1024, most: 1024 * 1024 };

export function createValueText(): ValueText {
  let known: Buffer | null = null;
  let isKnownAscii = false;

  const holdsOnlyAscii = (bytes: Buffer): boolean => {
    if (bytes.length < wholeBytes.least || bytes.length > wholeBytes.most) return false;
    if (known !== bytes) {
      known = bytes;
      isKnownAscii = isAscii(bytes);
    }
    return isKnownAscii;
  };

  return {
    decode(bytes, start, end) {
      if (holdsOnlyAscii(bytes)) return bytes.toString("latin1", start, end);
      const value = bytes.subarray(start, end);
      if (isAscii(value)) return bytes.toString("latin1", start, end);
      if (isUtf8(value)) return bytes.toString("utf8", start, end);
      throw new BodyFault("invalid_body", "the body is not UTF-8");
    },
  };
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
