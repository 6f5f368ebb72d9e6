import { type Buffer, isUtf8 } from "node:buffer";
import type { JsonObject, JsonValue } from "./json-value.ts";
import type { Deviation } from "../fleet/deviation.ts";

/** Why a body cannot be used. Thrown while it is read. The message never quotes the body. */
export class BodyFault extends Error {
  override readonly name = "BodyFault";
  readonly reason: "invalid_body" | "too_large";
  /** How it deviates from the interface, where that is why. */
  readonly deviations: readonly Deviation[];

  constructor(reason: BodyFault["reason"], message: string, deviations: readonly Deviation[] = []) {
    super(message);
    this.reason = reason;
    this.deviations = deviations;
  }
}

export const invalidBody = (detail: string): BodyFault =>
  new BodyFault("invalid_body", `the body ${detail}`);

/** @param offset in bytes from the start of the body */
export const notJson = (offset: number): BodyFault =>
  invalidBody(`is not JSON (at byte ${offset})`);

export const tooLarge = (detail: string): BodyFault => new BodyFault("too_large", detail);

/** Beyond these a value costs more than any response is worth: they are checked before it is parsed. */
export interface ValueLimits {
  readonly bytes: number;
  /** Arrays and objects. */
  readonly parts: number;
  /** Arrays and objects open within one another. */
  readonly nesting: number;
}

/** A million servers come in some 5 million parts. */
const bodyLimits: ValueLimits = { bytes: Infinity, parts: 10_000_000, nesting: 512 };

/**
 * Reads a body as strict UTF-8 (a byte order mark is skipped) and as JSON.
 *
 * @throws {BodyFault}
 */
export function parseJson(body: Buffer): JsonValue {
  if (body.length === 0) throw invalidBody("is empty");
  const text = body.subarray(afterMark(body));
  endOfValue(text, skipSpace(text, 0), bodyLimits);
  const value = parseText(decode(text));
  if (value === undefined) throw invalidBody("is not JSON");
  return value;
}

/** `Array.isArray` widens a readonly array to `any[]`; this does not. */
export function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined for what is not JSON: V8's own message quotes the text around the fault. */
export function parseText(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Strict UTF-8. A byte order mark is text like any other. */
export function decode(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  // U+FFFD stands for what is not UTF-8, unless it was sent. Looking for it in ASCII costs nothing.
  if (text.includes("\u{fffd}") && !isUtf8(bytes)) throw invalidBody("is not UTF-8");
  return text;
}

export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
const backslash = 0x5c;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

const byteOrderMark = [0xef, 0xbb, 0xbf];

/** The index after a byte order mark, if there is one. */
export function afterMark(bytes: Buffer): number {
  return byteOrderMark.every((byte, at) => bytes[at] === byte) ? byteOrderMark.length : 0;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The index of the first byte that is not a space, or the length. */
export function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && isSpace(bytes[at])) at++;
  return at;
}

/**
 * Finds where a JSON value ends without parsing it, by looking at strings and brackets alone: whether it is JSON is for
 * `JSON.parse` to decide. In UTF-8 no part of a longer character looks like one of these bytes.
 *
 * @param start of the value's first byte, which is no space
 * @returns where the value ends, `start` where there is none
 * @throws {BodyFault} where the bytes end before the value does, or it exceeds a limit
 */
export function endOfValue(bytes: Buffer, start: number, limits: ValueLimits): number {
  const first = bytes[start];
  if (first === undefined) throw endsTooEarly();
  if (first === quote) return endOfString(bytes, start);
  if (first === openBrace || first === openBracket) return endOfNested(bytes, start, limits);
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
  throw endsTooEarly();
}

function endOfNested(bytes: Buffer, start: number, limits: ValueLimits): number {
  let depth = 0;
  let parts = 0;
  for (let at = start; at < bytes.length;) {
    if (at - start > limits.bytes) break;
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at);
      continue;
    }
    at++;
    if (byte === openBrace || byte === openBracket) {
      depth++;
      parts++;
      if (depth > limits.nesting)
        throw invalidBody(`is nested deeper than ${limits.nesting} levels`);
      if (parts > limits.parts)
        throw tooLarge(`a value holds more than ${limits.parts} lists and objects`);
    } else if (byte === closeBrace || byte === closeBracket) {
      depth--;
      if (depth === 0 && at - start <= limits.bytes) return at;
    }
  }
  if (bytes.length - start <= limits.bytes) throw endsTooEarly();
  throw tooLarge(`a value is longer than ${limits.bytes} bytes`);
}

function endsScalar(byte: number | undefined): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);
}

export function endsTooEarly(): BodyFault {
  return invalidBody("is not JSON (it ends too early)");
}
