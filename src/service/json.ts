import { findExcess } from "./json-excess.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: JsonValue;
}

export type ParsedJson =
  | { readonly kind: "json"; readonly value: JsonValue }
  | { readonly kind: "not_json"; readonly detail: string }
  | { readonly kind: "too_large"; readonly detail: string };

/** Far more than any answer of the service needs: a million servers come in some 3.5 million objects. */
const limits = { nesting: 512, objects: 5_000_000 };

/**
 * Reads a body as strict UTF-8 (a byte order mark is let pass) and as JSON. The detail of a refusal
 * never quotes the body.
 */
export function parseJson(body: Uint8Array): ParsedJson {
  if (body.length === 0) return { kind: "not_json", detail: "the body is empty" };
  // JSON.parse of 64 MiB of brackets or braces takes seconds and gigabytes: they are counted first.
  switch (findExcess(body, limits)) {
    case "nesting":
      return {
        kind: "not_json",
        detail: `the body is nested deeper than ${limits.nesting} levels`,
      };
    case "objects":
      return { kind: "too_large", detail: `the body holds more than ${limits.objects} objects` };
    case null:
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return { kind: "not_json", detail: "the body is not UTF-8" };
  }
  try {
    const value: JsonValue = JSON.parse(text);
    return { kind: "json", value };
  } catch (error) {
    return { kind: "not_json", detail: `the body is not JSON${position(error)}` };
  }
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `Array.isArray` widens a readonly array to `any[]`; this does not. */
export function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** V8's message quotes the text around the fault: only the position is taken from it. */
function position(error: unknown): string {
  if (!(error instanceof SyntaxError)) return "";
  if (error.message === "Unexpected end of JSON input") return " (it ends too early)";
  const found = /at position (\d+) \(line \d+ column \d+\)$/.exec(error.message)?.[1];
  return found === undefined ? "" : ` (at character ${found})`;
}
