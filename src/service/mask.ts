import type { Slices } from "../fleet/slices.ts";
import { runInSlices } from "../lib/run-in-slices.ts";
import type { Secret } from "../lib/secret.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json-value.ts";

/** Replaces what may be secret in a response of the service. */
export type Mask = ReturnType<typeof createMask>;

const mask = "[secret]";
const valuesPerSlice = 256;
const mostRememberedNames = 1_000;

/** @param apiKey the key of the call, which the response might repeat */
export function createMask(apiKey: Secret) {
  const key = apiKey.reveal();
  const maskString = (text: string, isAddress: boolean): string =>
    maskText(key === "" ? text : text.replaceAll(key, mask), isAddress);
  /** A response has few names many times, or many names once. */
  const secretNames = new Map<string, boolean>();
  const isSecret = (name: string): boolean => {
    const known = secretNames.get(name) ?? isSecretName(name);
    if (secretNames.size < mostRememberedNames) secretNames.set(name, known);
    return known;
  };
  let values = 0;

  function* maskValue(value: JsonValue, isAddress: boolean): Slices<JsonValue> {
    values += 1;
    if (values % valuesPerSlice === 0) yield;
    if (typeof value === "string") return maskString(value, isAddress);
    if (isObject(value)) return yield* maskObject(value);
    if (!isArray(value)) return value;
    const shown: JsonValue[] = [];
    for (const item of value) shown.push(yield* maskValue(item, isAddress));
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
      if (isSecret(name) || (isSecretPair && valueNames.has(name.toLowerCase()))) {
        fields.set(free, holdsContent(value) ? mask : value);
      } else fields.set(free, yield* maskValue(value, isAddressName(name)));
    }
    return Object.fromEntries(fields);
  }

  return {
    text: (text: string): string => maskString(text, false),
    /** In slices, between which the event loop runs. */
    answer: (value: JsonValue): Promise<JsonValue> => runInSlices(maskValue(value, false)),
  };
}

const pairNames: ReadonlySet<string> = new Set(["name", "key", "field", "header", "variable"]);
const valueNames: ReadonlySet<string> = new Set(["value", "values", "val", "content", "default"]);

/** Whether it is a pair such as `{ "name": "API_KEY", "value": "..." }`. */
function namesSecret(object: JsonObject): boolean {
  const fields = Object.entries(object);
  return (
    fields.some(([field]) => valueNames.has(field.toLowerCase())) &&
    fields.some(
      ([field, name]) =>
        pairNames.has(field.toLowerCase()) && typeof name === "string" && isSecretName(name),
    )
  );
}

/** Whether there is anything to hide: an empty value may be shown. */
function holdsContent(value: JsonValue): boolean {
  if (value === null || typeof value === "boolean" || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** The name of a secret and its value. Every part is bounded: text may consist of such beginnings alone. */
const assignment =
  /((?:token|secret|passw|api[-_]?key|authorization|cookie)[\w-]{0,32}[\\"']{0,8}\s{0,8}[:=]\s{0,8})(?:(?:bearer|basic)\s{1,8})?(?:\\{0,4}"[^"]{0,4096}"|'[^']{0,4096}'|[^\s,;&]{1,4096})/gi;

const bearer = /(\bbearer\s{1,8})[\w.~+/=-]{8,}/gi;

/**
 * Masks user, password and query of a URL, and the value after a name such as `token=`.
 *
 * @param isAddress whether the whole text is a URL
 */
function maskText(text: string, isAddress: boolean): string {
  const withoutQueries = /[?#@]/.test(text)
    ? text.replaceAll(/\S+/g, (word) => maskWord(word, isAddress))
    : text;
  return /[:=]|bearer/i.test(withoutQueries)
    ? withoutQueries.replaceAll(assignment, `$1${mask}`).replaceAll(bearer, `$1${mask}`)
    : withoutQueries;
}

/** Everything after the beginning of the query is masked, with a fragment and a closing bracket. */
function maskWord(word: string, isAddress: boolean): string {
  const scheme = word.indexOf("://");
  const hostAt = scheme === -1 ? 0 : scheme + 3;
  const end = queryOf(word, hostAt, isAddress || scheme !== -1);
  const address = end === -1 ? word : word.slice(0, end + 1);
  const query = end === -1 || end + 1 === word.length ? "" : mask;
  return (scheme === -1 ? address : withoutUser(address, hostAt)) + query;
}

/** The index of the query, or of a fragment that looks like one; -1: there is none. */
function queryOf(word: string, from: number, isAddress: boolean): number {
  const query = word.indexOf("?", from);
  if (query !== -1 && (isAddress || word.includes("=", query))) return query;
  const fragment = word.indexOf("#", from);
  return fragment !== -1 && word.includes("=", fragment) ? fragment : -1;
}

function withoutUser(address: string, hostAt: number): string {
  const slash = address.indexOf("/", hostAt);
  const end = slash === -1 ? address.length : slash;
  const at = address.lastIndexOf("@", end - 1);
  return at < hostAt ? address : address.slice(0, hostAt) + mask + address.slice(at);
}

/** Secret wherever they occur in the letters and digits of a name. */
const secretParts =
  /token|secret|passw|passphrase|passcode|credential|cookie|bearer|jwt|(?:api|access|private|signing|encryption|ssh|auth|session)key|sessionid|authoriz|authentication|connectionstring|webhook/;

/** Too short for that: secret as a whole word of a name. `metadata` is free-form in the interface document. */
const secretWords = /^(?:o?auth|pass|pwd|t?otp|pin|cv[vc]|dsn|sid|metadata)$/;

/** Longer names are not given by people. */
const longestName = 200;

/** Whether a field of that name likely holds a secret: `api_key`, `X-Auth`, `refreshToken`. */
function isSecretName(name: string): boolean {
  const words = name
    .slice(0, longestName)
    .normalize("NFKC")
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, " ")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => secretWords.test(word)) || secretParts.test(words.join(""));
}

/** Whether a field of that name holds a URL. */
function isAddressName(name: string): boolean {
  return /(?:ur[li]|href|link|endpoint)s?$/i.test(name.slice(-longestName));
}
