import { type Buffer, isAscii, isUtf8 } from "node:buffer";
import type { JsonValue } from "../json.ts";
import { BodyFault } from "./body-fault.ts";

/** Strict UTF-8: throws a BodyFault for what is none. */
export function decodeText(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw new BodyFault("invalid_body", "the body is not UTF-8");
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
