import {
  backslash,
  closeBrace,
  closeBracket,
  openBrace,
  openBracket,
  quote,
} from "./json-bytes.ts";

export interface JsonLimits {
  /** Arrays and objects open within one another. */
  readonly nesting: number;
  /** In the whole text. */
  readonly objects: number;
}

/**
 * Which of the limits a JSON text exceeds first, if any. For a text that is not JSON the answer holds
 * up to the fault, which is as far as a parser reads.
 */
export function findExcess(text: Uint8Array, limits: JsonLimits): keyof JsonLimits | null {
  let depth = 0;
  let objects = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === quote) at = endOfString(text, at);
    else if (byte === openBracket || byte === openBrace) {
      depth++;
      if (depth > limits.nesting) return "nesting";
      if (byte === openBrace) objects++;
      if (objects > limits.objects) return "objects";
    } else if (byte === closeBracket || byte === closeBrace) depth--;
  }
  return null;
}

/** In UTF-8 no part of a longer character looks like a quote or a backslash. */
function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at;
}
