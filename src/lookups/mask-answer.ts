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
  answer(value: JsonValue): JsonValue;
}

export function createMask({ apiKey, showSecrets }: MaskOptions): Mask {
  const key = apiKey.reveal();
  const maskString = (text: string, isAddress: boolean): string => {
    const keyless = key === "" ? text : text.replaceAll(key, mask);
    return showSecrets ? keyless : maskText(keyless, isAddress);
  };
  const maskNamed = (name: string, value: JsonValue): JsonValue => {
    if (!showSecrets && isSecretName(name)) return isTelling(value) ? mask : value;
    return maskValue(value, isAddressName(name));
  };
  const maskValue = (value: JsonValue, isAddress: boolean): JsonValue => {
    if (typeof value === "string") return maskString(value, isAddress);
    if (isArray(value)) return value.map((item) => maskValue(item, isAddress));
    return isObject(value) ? maskObject(value) : value;
  };
  /** Names are from outside as well: those that are the same once masked are told apart. */
  const maskObject = (object: JsonObject): JsonObject => {
    const fields = new Map<string, JsonValue>();
    const isSecretPair = namesSecret(object);
    let alike = 1;
    for (const [name, value] of Object.entries(object)) {
      const shown = maskString(name, false);
      let free = shown;
      while (fields.has(free)) free = `${shown} ${++alike}`;
      const isPaired = isSecretPair && valueNames.has(name.toLowerCase());
      fields.set(free, maskNamed(isPaired ? "secret" : name, value));
    }
    return Object.fromEntries(fields);
  };
  return {
    text: (text) => maskString(text, false),
    answer: (value) => maskValue(value, false),
  };
}

const pairNames = ["name", "key", "field", "header", "variable"];
const valueNames: ReadonlySet<string> = new Set(["value", "values", "val", "content", "default"]);

/** Whether it is a pair such as `{ "name": "API_KEY", "value": "..." }`. */
function namesSecret(object: JsonObject): boolean {
  return pairNames.some((field) => {
    const name = Object.hasOwn(object, field) ? object[field] : undefined;
    return typeof name === "string" && isSecretName(name);
  });
}

/** Whether there is anything in it to hide: that there is nothing may be told. */
function isTelling(value: JsonValue): boolean {
  if (value === null || typeof value === "boolean" || value === "") return false;
  if (typeof value !== "object") return true;
  return Object.keys(value).length > 0;
}
