import { z } from "zod";
import { durationPattern, formatDuration, parseDuration } from "../fleet/text.ts";
import { parseNetwork } from "../lib/networks.ts";
import type { Network } from "../lib/networks.ts";
import { Secret } from "../lib/secret.ts";
import { leavesUnencrypted, parseWebAddress } from "./address.ts";

type Scalar = string | number | boolean;

/** A fault with the allowed values. Default for what was found: the value at the path. */
interface Refusal {
  /** Within the value that is checked. */
  readonly path?: readonly (string | number)[];
  readonly found?: string;
  /** Is added to what was found. */
  readonly note?: string;
  /** Names among which a misspelt one is looked up. */
  readonly known?: readonly string[];
  /** The same, to be added to what is allowed. */
  readonly listed?: readonly string[];
  /** What is suggested instead of the value. */
  readonly meant?: string | undefined;
}

/** Adds a fault to those that zod found. */
export function refuse(
  context: Pick<z.RefinementCtx, "addIssue">,
  allowed: string,
  { path = [], ...params }: Refusal = {},
): typeof z.NEVER {
  context.addIssue({ code: "custom", message: allowed, path: [...path], params });
  return z.NEVER;
}

/**
 * A setting that is one value. How it is written, for the JSON Schema, is added with `meta`.
 *
 * @param read gives undefined for a value that is not allowed
 * @param correct gives what is suggested for such a text; it must be allowed
 */
export function scalar<T>(
  allowed: string,
  read: (value: Scalar) => T | undefined,
  known: readonly string[] = [],
  correct: (text: string) => string | undefined = () => undefined,
) {
  return z
    .unknown()
    .transform((value, context): T => {
      const result = isScalar(value) ? read(value) : undefined;
      if (result !== undefined) return result;
      const corrected = typeof value === "string" ? correct(value) : undefined;
      const meant =
        corrected === undefined || read(corrected) === undefined ? {} : { meant: corrected };
      return refuse(context, allowed, { known, note: noteOnQuotes(value, read), ...meant });
    })
    .meta({ errorMessage: allowed });
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Says so where a value that YAML reads as something else would be right in quotes. */
export function noteOnQuotes(value: unknown, read: (text: string) => unknown): string {
  if (typeof value === "string" || (value !== null && !isScalar(value))) return "";
  if (read(String(value)) === undefined) return "";
  return value === null
    ? " (an empty value, or null without quotes)"
    : `, which YAML reads as a ${typeof value}: quote it`;
}

/** Text; `like` is its form as far as a pattern says. */
export function textOf<T>(
  allowed: string,
  like: RegExp,
  read: (text: string) => T | undefined,
  known: readonly string[] = [],
  correct?: (text: string) => string | undefined,
) {
  const readText = (value: Scalar) => (typeof value === "string" ? read(value) : undefined);
  return scalar(allowed, readText, known, correct).meta(textLike(like));
}

export function matching(allowed: string, pattern: RegExp) {
  return textOf(allowed, pattern, (value) => (pattern.test(value) ? value : undefined));
}

export function secretMatching(allowed: string, pattern: RegExp) {
  return textOf(allowed, pattern, (value) => (pattern.test(value) ? new Secret(value) : undefined));
}

export function text(allowed = "text") {
  return scalar(allowed, (value) =>
    typeof value === "string" && value !== "" ? value : undefined,
  ).meta({ type: "string", minLength: 1 });
}

/** @param note what else must be true of it, in words */
export function network(note = "", isAllowed: (network: Network) => boolean = () => true) {
  const allowed = "a network such as 10.0.0.0/8 or fd00::/8, or one address";
  return textOf(
    note === "" ? allowed : `${allowed}, ${note}`,
    /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\dA-Fa-f:.]*:[\dA-Fa-f:.]*)(?:\/\d{1,3})?$/,
    (value) => {
      const read = parseNetwork(value);
      return read && isAllowed(read) ? read : undefined;
    },
  );
}

/** The value of a header: visible ASCII only, as anything else is refused or cut. */
export const headerPattern = /^[\x21-\x7e]+$/;

/** Names become labels and parts of paths, so they hold nothing that would need escaping there. */
export const namePattern = /^[A-Za-z0-9_.-]{1,63}$/;
export const nameAllowed = "a name of at most 63 letters, digits, _ . -";

export function name() {
  return matching(nameAllowed, namePattern);
}

/** Names of what is configured elsewhere in the file; whether it is: `crossCheckSettings`. */
export function namesOf(what: string) {
  const each = text(`the name of a configured ${what}`).meta(textLike(namePattern));
  return z
    .array(each, `a list of ${what}s`)
    .superRefine(eachOnce(`each ${what} once`))
    .meta({ uniqueItems: true });
}

/** For lists: refuses what stands in it before. */
export function eachOnce<Item>(allowed: string, textOfItem: (item: Item) => string = String) {
  return (items: readonly Item[], context: z.RefinementCtx): void => {
    const before = new Set<string>();
    for (const [index, item] of items.entries()) {
      const each = textOfItem(item);
      if (before.has(each))
        refuse(context, allowed, { path: [index], note: ", which is listed before" });
      before.add(each);
    }
  };
}

export function oneOf<const T extends string>(
  values: readonly T[],
  allowed: string = values.join(", "),
) {
  return scalar(allowed, (value) => values.find((each) => each === value), values).meta(
    orReference({ enum: values }),
  );
}

/** A whole number; as text too, since a value out of `${...}` is always text. */
export function count(least: number, most: number) {
  return scalar(`a whole number from ${least} to ${most}`, (value) => {
    const number = numberIn(value, /^\d{1,15}$/);
    return Number.isInteger(number) && number >= least && number <= most ? number : undefined;
  }).meta({
    ...textLike(/^\d{1,15}$/),
    type: ["integer", "string"],
    minimum: least,
    maximum: most,
  });
}

/** NaN where the value is neither a number nor text of the pattern. */
export function numberIn(value: unknown, pattern: RegExp): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && pattern.test(value) ? Number(value) : Number.NaN;
}

/** YAML 1.2 reads `on` and `off` as text. */
const flags = new Map<Scalar, boolean>([
  [true, true],
  ["true", true],
  ["on", true],
  [false, false],
  ["false", false],
  ["off", false],
]);

export function flag() {
  return scalar("true or false", (value) => flags.get(value)).meta({
    ...textLike(/^(?:true|false|on|off)$/),
    type: ["boolean", "string"],
  });
}

export function allowHttp(setting: string) {
  return flag()
    .prefault(false)
    .describe(`Allows \`${setting}\` with http that is not a loopback address.`);
}

export function refuseUnencrypted(
  context: z.RefinementCtx,
  address: string,
  isAllowed: boolean,
  ...path: readonly (string | number)[]
): void {
  const url = parseWebAddress(address);
  if (isAllowed || !url || !leavesUnencrypted(url)) return;
  const allowed = "https, a loopback address, or http with allow_http: true";
  refuse(context, allowed, { path, found: "an address without encryption" });
}

const wordedPart = /(\d+) ?(ms|s|m|h|d)(?:econd|ec|inute|in|our|r|ay)?s?(?:,? and |,? |$)/gi;

/** `5 seconds` as `5s`; undefined for what is no duration in words. */
function shortDuration(words: string): string | undefined {
  const short = words.replaceAll(wordedPart, (_, number: string, unit: string) => {
    return number + unit.toLowerCase();
  });
  const ms = parseDuration(short);
  return ms === undefined ? undefined : formatDuration(ms);
}

/** Milliseconds. A bare 0 needs no unit. */
export function duration(least: string, most?: string) {
  const leastMs = parseDuration(least) ?? 0;
  const mostMs = parseDuration(most ?? "") ?? Number.MAX_SAFE_INTEGER;
  const range = most === undefined ? `at least ${least}` : `from ${least} to ${most}`;
  const limits = leastMs === 0 ? "" : `, ${range}`;
  const example = formatDuration(Math.max(leastMs, 30_000));
  const read = (value: Scalar): number | undefined => {
    const ms = parseDuration(value === 0 ? "0s" : String(value));
    return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined;
  };
  const allowed = `a duration such as ${example} or 1h30m${limits}`;
  return scalar(allowed, read, [], shortDuration).meta({
    ...textLike(durationPattern),
    ...(leastMs === 0 ? { type: ["string", "integer"], minimum: 0, maximum: 0 } : {}),
  });
}

/** Secrets and certificates that may be read from a file, which is named by the same setting with `_file` after it. */
export const fromFile = [
  "api_key",
  "url",
  "topic",
  "secret",
  "routing_key",
  "webhook_secret",
  "headers",
  "bearer_token",
  "password",
  "bot_token",
  "token",
  "app_token",
  "proxy_url",
  "ca",
];

/**
 * A mapping with a fixed set of settings, by their names in the program: `giveUpAfterMs` is written as
 * `give_up_after`. The message for an unknown one has those that are known, for `unknownSettings` to read.
 *
 * @param ofOthers settings of other mappings, with what to do instead of writing them here
 */
export function settings<const Shape extends z.ZodRawShape>(
  shape: Shape,
  ofOthers: Readonly<Record<string, string>> = {},
) {
  const names = new Map(Object.keys(shape).map((each) => [writtenName(each), each]));
  const written = Object.entries(shape).map(([each, schema]) => [writtenName(each), schema]);
  // They have become others before the schema sees them.
  const readElsewhere = fromFile.filter((each) => names.has(each)).map((each) => `${each}_file`);
  const known = JSON.stringify({ known: [...names.keys(), ...readElsewhere], ofOthers });
  return z
    .strictObject(Object.fromEntries(written), {
      error: (issue) => (issue.code === "unrecognized_keys" ? known : "a mapping"),
    })
    .meta(readElsewhere.length === 0 ? {} : { readElsewhere })
    .transform((value): z.output<z.ZodObject<Shape>> => {
      const renamed: unknown[][] = Object.entries(value).map(([each, part]) => [
        names.get(each),
        part,
      ]);
      return Object.fromEntries(renamed);
    });
}

function writtenName(each: string): string {
  const plain = each.replace(/(?:Ms|Bytes)$/, "");
  return plain.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** @param defaultText what holds where the setting is omitted, which is null */
export function optional<Schema extends z.ZodType>(
  schema: Schema,
  defaultText: string,
  description: string,
) {
  return schema
    .optional()
    .transform((value) => value ?? null)
    .meta({ description, defaultText });
}

const unknownSchema = z.object({
  known: z.array(z.string()),
  ofOthers: z
    .record(z.string(), z.string())
    .transform((texts): ReadonlyMap<string, string> => new Map(Object.entries(texts))),
});

/** What the message for an unknown setting has. */
export function unknownSettings(message: string) {
  return unknownSchema.parse(JSON.parse(message));
}

// How values look in the file, in the words of JSON Schema: where an editor sees them, no variable
// has taken the place of `${NAME}` yet.

const referencePattern = String.raw`\$\{`;

/** Text of a pattern, or with a reference in it. Numbers are not looked at. */
export function textLike(pattern: RegExp) {
  return { type: "string" as const, pattern: `${pattern.source}|${referencePattern}` };
}

/** A schema of the value, or of text that contains a reference such as `${NAME}`. */
export function orReference(schema: object) {
  return { anyOf: [schema, { type: "string", pattern: referencePattern }] };
}

/** Settings of which at most one can stand in a mapping. */
export function notBoth(one: string, other: string) {
  return { not: { required: [one, other] }, errorMessage: `${one} or ${other}, not both` };
}

/** Settings of which exactly one must stand in a mapping. */
export function oneOfSettings(names: readonly string[]) {
  return {
    oneOf: names.map((each) => ({ required: [each] })),
    errorMessage: `one of ${names.join(", ")}`,
  };
}
