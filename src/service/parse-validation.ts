import type { Secret } from "../lib/secret.ts";
import type { ValidationEntry } from "./failure.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";

const maxEntries = 100;
const maxLocParts = 32;
const maxTextLength = 500;

/** Takes what it can of the body of a 422; a key that the service repeats is masked. */
export function parseValidation(body: JsonValue, apiKey: Secret): readonly ValidationEntry[] {
  const entries = isObject(body) ? body["detail"] : undefined;
  if (!isArray(entries)) return [];
  return entries
    .slice(0, maxEntries)
    .filter(isObject)
    .map((entry) => readEntry(entry, apiKey));
}

function readEntry(entry: JsonObject, apiKey: Secret): ValidationEntry {
  const text = (value: JsonValue | undefined): string =>
    typeof value === "string" ? masked(value, apiKey).slice(0, maxTextLength).toWellFormed() : "";
  const loc: (string | number)[] = [];
  for (const part of isArray(entry["loc"]) ? entry["loc"].slice(0, maxLocParts) : []) {
    if (typeof part === "number") loc.push(part);
    else if (typeof part === "string") loc.push(text(part));
  }
  return { loc, msg: text(entry["msg"]), type: text(entry["type"]) };
}

function masked(text: string, apiKey: Secret): string {
  const key = apiKey.reveal();
  return key === "" ? text : text.replaceAll(key, apiKey.toString());
}
