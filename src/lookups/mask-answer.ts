import type { Slices } from "../fleet/slices.ts";
import { runInSlices } from "../platform/run-in-slices.ts";
import type { Secret } from "../platform/secret.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "../service/json.ts";
import { mask, maskText } from "./mask-text.ts";
import { isAddressName, isSecretName } from "./secret-names.ts";

export interface MaskOptions {
  /** The one that was sent: a service that repeats it is not repeated. */
  readonly apiKey: Secret;
  /** Masks nothing but the key. */
  readonly showSecrets: boolean;
}

/** What an answer holds, without what in it may be secret. */
export interface Mask {
  text(text: string): string;
  /** In turns: between them comes whatever else is due. */
  answer(value: JsonValue): Promise<JsonValue>;
}

/** In one slice. */
const valuesPerSlice = 256;

export function createMask({ apiKey, showSecrets }: MaskOptions): Mask {
  const kindOf = rememberKinds();
  const key = apiKey.reveal();
  const maskString = (text: string, isAddress: boolean): string => {
    const keyless = key === "" ? text : text.replaceAll(key, mask);
    return showSecrets ? keyless : maskText(keyless, isAddress);
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

  /** Names are from outside as well: those that are the same once masked are told apart. */
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
      const isHidden = isSecret && !showSecrets;
      if (isHidden) fields.set(free, isTelling(value) ? mask : value);
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

/** An answer has the same few names many times; one that has many names has each of them once. */
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

/** Whether there is anything in it to hide: that there is nothing may be told. */
function isTelling(value: JsonValue): boolean {
  if (value === null || typeof value === "boolean" || value === "") return false;
  if (typeof value !== "object") return true;
  return Object.keys(value).length > 0;
}
