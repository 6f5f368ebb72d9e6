import type { Deviations } from "./deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";

/** Text as it came, save for lone surrogates: no database, file or HTTP body can carry those. */
export function readText(
  value: JsonValue | undefined,
  maxLength: number = Number.POSITIVE_INFINITY,
): string | null {
  return typeof value === "string" && value.length <= maxLength ? value.toWellFormed() : null;
}

/** Null for what is no list. What `read` refuses is left out and counted. */
export function readList<T>(
  value: JsonValue | undefined,
  field: string,
  deviations: Deviations,
  read: (item: JsonValue) => T | null,
): readonly T[] | null {
  if (!isArray(value)) return null;
  const items: T[] = [];
  const itemField = `${field}[]`;
  for (const item of value) {
    const taken = read(item);
    if (taken !== null) items.push(taken);
    else noteItem(item, itemField, deviations);
  }
  return items;
}

export function readObject(value: JsonValue | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}

/** Counts an item that is null or of another type than its list promises. */
export function noteItem(item: JsonValue, field: string, deviations: Deviations): void {
  deviations.note(field, item === null ? "null" : "wrong_type", item);
}
