import type { Slices } from "../fleet/slices.ts";
import { runInSlices } from "../lib/run-in-slices.ts";
import type { Secret } from "../lib/secret.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json.ts";
import { isAddressName, isSecretName, mask, maskText } from "./mask-text.ts";

/** Replaces what may be secret in a response of the service. */
export interface Mask {
  text(text: string): string;
  /** In slices, between which the event loop runs. */
  answer(value: JsonValue): Promise<JsonValue>;
}

/** In one slice. */
const valuesPerSlice = 256;

/** @param apiKey the key of the call, which the response might repeat */
export function createMask(apiKey: Secret): Mask {
  const kindOf = rememberKinds();
  const key = apiKey.reveal();
  const maskString = (text: string, isAddress: boolean): string => {
    const keyless = key === "" ? text : text.replaceAll(key, mask);
    return maskText(keyless, isAddress);
  };
  let values = 0;

  function* maskValue(value: JsonValue, isAddress: boolean): Slices<JsonValue> {
    values += 1;
    if (values % valuesPerSlice === 0) yield;
    if (typeof value === "string") return maskString(value, isAddress);
    if (isArray(value)) return yield* maskItems(value, isAddress);
    return isObject(value) ? yield* maskObject(value) : value;
  }

  function* maskItems(items: readonly JsonValue[], isAddress: boolean): Slices<JsonValue> {
    const shown: JsonValue[] = [];
    for (const item of items) shown.push(yield* maskValue(item, isAddress));
    return shown;
  }

  /** Names are masked too. Names that are equal once masked get a number. */
  function* maskObject(object: JsonObject): Slices<JsonValue> {
    const fields = new Map<string, JsonValue>();
    const isSecretPair = namesSecret(object);
    let alike = 1;
    for (const [name, value] of Object.entries(object)) {
      const shown = maskString(name, false);
      let free = shown;
      while (fields.has(free)) free = `${shown} ${++alike}`;
      const isPaired = isSecretPair && valueNames.has(name.toLowerCase());
      const { isSecret, isAddress } = kindOf(isPaired ? "secret" : name);
      if (isSecret) fields.set(free, holdsContent(value) ? mask : value);
      else fields.set(free, yield* maskValue(value, isAddress));
    }
    return Object.fromEntries(fields);
  }

  return {
    text: (text) => maskString(text, false),
    answer: (value) => runInSlices(maskValue(value, false)),
  };
}

interface NameKind {
  readonly isSecret: boolean;
  readonly isAddress: boolean;
}

/** A response repeats a few names many times, or has many names once. */
const mostRemembered = 1_000;

function rememberKinds(): (name: string) => NameKind {
  const kinds = new Map<string, NameKind>();
  return (name) => {
    const known = kinds.get(name);
    if (known) return known;
    const kind = { isSecret: isSecretName(name), isAddress: isAddressName(name) };
    if (kinds.size < mostRemembered) kinds.set(name, kind);
    return kind;
  };
}

const pairNames: ReadonlySet<string> = new Set(["name", "key", "field", "header", "variable"]);
const valueNames: ReadonlySet<string> = new Set(["value", "values", "val", "content", "default"]);

/** Whether it is a pair such as `{ "name": "API_KEY", "value": "..." }`. */
function namesSecret(object: JsonObject): boolean {
  const fields = Object.keys(object);
  if (!fields.some((field) => valueNames.has(field.toLowerCase()))) return false;
  return fields.some((field) => {
    const name = object[field];
    return pairNames.has(field.toLowerCase()) && typeof name === "string" && isSecretName(name);
  });
}

/** Whether there is anything to hide: an empty value may be shown. */
function holdsContent(value: JsonValue): boolean {
  if (value === null || typeof value === "boolean" || value === "") return false;
  if (typeof value !== "object") return true;
  return Object.keys(value).length > 0;
}
