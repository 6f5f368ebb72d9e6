import { type Buffer, isUtf8 } from "node:buffer";
import type { JsonValue } from "./json.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from "./json-bytes.ts";
import { ListingFault, notUtf8, tooLarge } from "./listing-fault.ts";

/**
 * Finds where JSON values end without parsing them, and parses what was found. What is found is only as good as the
 * text: whether it is JSON is for `JSON.parse` to say. In UTF-8 no part of a longer character looks like a quote, a
 * backslash or a bracket.
 */

/** Up to where a value is read: beyond that it costs what no listing is worth. */
export const valueLimits = {
  /** Of one sandbox, or of all that is beside the sandboxes. */
  bytes: 8 * 1024 * 1024,
  /** Arrays and objects open within one another. */
  nesting: 512,
  objects: 100_000,
};

/**
 * @param start of the value's first byte, which is no space
 * @returns where the value ends, `start` where there is none; -1 where the body ends before the value does
 */
export function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === quote) return endOfString(bytes, start);
  if (first === openBrace || first === openBracket) return endOfNested(bytes, start);
  let at = start;
  while (at < bytes.length && !endsScalar(bytes[at])) at++;
  return at;
}

/** @param start of the opening quote */
export function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    at += byte === backslash ? 2 : 1;
  }
  return -1;
}

function endOfNested(bytes: Buffer, start: number): number {
  const end = Math.min(bytes.length, start + valueLimits.bytes + 1);
  let depth = 0;
  let objects = 0;
  let at = start;
  while (at < end) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at < 0) break;
      continue;
    }
    at++;
    if (byte === openBrace || byte === openBracket) {
      depth++;
      if (byte === openBrace) objects++;
      if (depth > valueLimits.nesting || objects > valueLimits.objects) throw excess(depth);
    } else if (byte === closeBrace || byte === closeBracket) {
      depth--;
      if (depth === 0) return at;
    }
  }
  if (at < 0 ? bytes.length - start <= valueLimits.bytes : at === bytes.length) return -1;
  throw tooLarge(`one value of the body is longer than ${valueLimits.bytes} bytes`);
}

function endsScalar(byte: number | undefined): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);
}

function excess(depth: number): ListingFault {
  return depth > valueLimits.nesting
    ? new ListingFault(
        "invalid_body",
        `the body is nested deeper than ${valueLimits.nesting} levels`,
      )
    : tooLarge(`one value of the body holds more than ${valueLimits.objects} objects`);
}

/** Strict UTF-8. A byte order mark is text like any other. */
export function decode(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  // It stands for what is no UTF-8, unless it was sent. To look for it in a text of ASCII costs nothing.
  if (text.includes("\u{fffd}") && !isUtf8(bytes)) throw notUtf8();
  return text;
}

/** Undefined for what is no JSON: V8's own message quotes the text around the fault. */
export function parseText(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
