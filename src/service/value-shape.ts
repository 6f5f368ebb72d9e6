import { counted } from "../fleet/counted.ts";
import { isArray, isObject, type JsonValue } from "./json.ts";

/** What a value looks like, without anything of what it says. */
export function shapeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (isArray(value)) return `list of ${counted(value.length, "item")}`;
  if (isObject(value)) return `object of ${counted(Object.keys(value).length, "field")}`;
  switch (typeof value) {
    case "string":
      return `text of ${counted(value.length, "character")}`;
    case "number":
      return Number.isInteger(value) ? "whole number" : "number";
    default:
      return "true or false";
  }
}

/** A value that stands where one of a few words is promised: a short word is told, and nothing else. */
export function wordOf(value: JsonValue): string {
  const isWord = typeof value === "string" && /^[a-z]+(?:[ _-][a-z]+){0,3}$/i.test(value);
  return isWord && value.length <= maxWordLength ? `"${value}"` : otherWord;
}

/** Past so many words, and for what looks like no word at all. */
export const otherWord = "text";
const maxWordLength = 24;

const maxNameLength = 64;
/** Numbers, long runs of digits and letters, addresses: no service names its fields like that. */
const dataLike = /\d{5}|[0-9a-f]{16}|@|:\/\/|^(?=.*\d)(?=.*[a-z]).{24}/i;

/** A field's name as it can stand in a log and in a label; one that may itself be data is left out. */
export function fieldName(name: string): string {
  // Most are as plain as this.
  if (/^[a-z_]{1,24}$/i.test(name)) return name;
  const short = name.slice(0, maxNameLength);
  return dataLike.test(short) ? "*" : short.replaceAll(/[^\x21-\x7e]/g, "?");
}
