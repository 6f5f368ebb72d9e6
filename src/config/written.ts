/**
 * How values look in the file, in the words of JSON Schema: where an editor sees them, no variable
 * has taken the place of `${NAME}` yet.
 */

const referencePattern = String.raw`\$\{`;

/** Text of a pattern, or with a reference in it. Numbers are not looked at. */
export function textLike(pattern: RegExp): { readonly type: "string"; readonly pattern: string } {
  return { type: "string", pattern: `${pattern.source}|${referencePattern}` };
}

/** What JSON Schema says of the value, or text with a reference in it. */
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
    oneOf: names.map((name) => ({ required: [name] })),
    errorMessage: `one of ${names.join(", ")}`,
  };
}

/** As `new URL` takes them: around and before what it wants, it forgives a lot. */
export const webAddress = textLike(/^[^!-~]*[Hh][Tt][Tt][Pp][Ss]?:/);
export const baseAddress = textLike(/^[^!-~]*[Hh][Tt][Tt][Pp][Ss]?:[^?#]*$/);

/** What is sent in a header, where anything but visible ASCII is refused or cut. */
export const headerText = textLike(/^[\x21-\x7e]+$/);
