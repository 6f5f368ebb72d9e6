import { z } from "zod";
import { durationPattern, formatDuration, parseDuration } from "../fleet/duration.ts";
import { orReference, textLike } from "./written.ts";

type Scalar = string | number | boolean;

/**
 * A setting that is one value. Its only message says what is allowed: the fault adds what was found.
 * What that looks like as it is written, for the JSON Schema, is added with `meta`.
 *
 * @param read gives undefined for a value that is not allowed
 * @param known names among which a misspelt value is looked up
 */
export function scalar<T>(
  allowed: string,
  read: (value: Scalar) => T | undefined,
  known: readonly string[] = [],
): z.ZodPipe<z.ZodUnknown, z.ZodTransform<T>> {
  return z
    .unknown()
    .transform((value, context): T => {
      const result = isScalar(value) ? read(value) : undefined;
      if (result !== undefined) return result;
      const isRightAsText = readsAsText(value, read);
      context.addIssue({ code: "custom", message: allowed, params: { known, isRightAsText } });
      return z.NEVER;
    })
    .meta({ errorMessage: allowed });
}

/** Whether a value that YAML reads as something else would be right in quotes. */
export function readsAsText(value: unknown, read: (value: string) => unknown): boolean {
  const isWritten = typeof value === "number" || typeof value === "boolean" || value === null;
  return isWritten && read(String(value)) !== undefined;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/**
 * A mapping with a fixed set of settings. The message for an unknown one is the list of those known,
 * separated by blanks, for `knownSettings` to read.
 *
 * @param readElsewhere settings that are known, but have become others before the schema sees them
 */
export function settings<const Shape extends z.ZodRawShape>(
  shape: Shape,
  readElsewhere: readonly string[] = [],
): z.ZodObject<Shape, z.core.$strict> {
  const known = [...Object.keys(shape), ...readElsewhere].join(" ");
  return z
    .strictObject(shape, {
      error: (issue) => (issue.code === "unrecognized_keys" ? known : "a mapping"),
    })
    .meta(readElsewhere.length === 0 ? {} : { readElsewhere });
}

export function knownSettings(message: string): string[] {
  return message.split(" ");
}

export function text(allowed = "text"): ReturnType<typeof scalar<string>> {
  return scalar(allowed, (value) =>
    typeof value === "string" && value !== "" ? value : undefined,
  ).meta({ type: "string", minLength: 1 });
}

/** Names become labels and parts of paths, so they hold nothing that would need escaping there. */
export const namePattern = /^[A-Za-z0-9_.-]{1,63}$/;
export const nameAllowed = "a name of at most 63 letters, digits, _ . -";

export function name(): ReturnType<typeof scalar<string>> {
  return scalar(nameAllowed, (value) =>
    typeof value === "string" && namePattern.test(value) ? value : undefined,
  ).meta(textLike(namePattern));
}

/** Names of what is configured elsewhere in the file; whether it is, and each once: `crossChecks`. */
export function namesOf(what: string) {
  const each = text(`the name of a configured ${what}`).meta(textLike(namePattern));
  return z.array(each, `a list of ${what}s`).meta({ uniqueItems: true });
}

export function oneOf<const T extends string>(
  values: readonly T[],
  allowed: string = values.join(", "),
): ReturnType<typeof scalar<T>> {
  return scalar(allowed, (value) => values.find((candidate) => candidate === value), values).meta(
    orReference({ enum: values }),
  );
}

/** A whole number; as text too, since a value out of `${...}` is always text. */
export function count(least: number, most: number): ReturnType<typeof scalar<number>> {
  return scalar(`a whole number from ${least} to ${most}`, (value) => {
    const digits = typeof value === "string" && /^\d{1,15}$/.test(value);
    const number = digits ? Number(value) : value;
    if (typeof number !== "number" || !Number.isInteger(number)) return undefined;
    return number >= least && number <= most ? number : undefined;
  }).meta({
    ...textLike(/^\d{1,15}$/),
    type: ["integer", "string"],
    minimum: least,
    maximum: most,
  });
}

export function flag(): ReturnType<typeof scalar<boolean>> {
  return scalar("true or false", readFlag).meta({
    ...textLike(/^(?:true|false|on|off)$/),
    type: ["boolean", "string"],
  });
}

/** YAML 1.2 reads `on` and `off` as text. */
export function readFlag(value: unknown): boolean | undefined {
  if (value === true || value === "true" || value === "on") return true;
  return value === false || value === "false" || value === "off" ? false : undefined;
}

/** Milliseconds. A bare 0 needs no unit. */
export function duration(least: string, most?: string): ReturnType<typeof scalar<number>> {
  const leastMs = parseDuration(least) ?? 0;
  const mostMs = (most === undefined ? undefined : parseDuration(most)) ?? Number.MAX_SAFE_INTEGER;
  const range = most === undefined ? `at least ${least}` : `from ${least} to ${most}`;
  const limits = leastMs === 0 ? "" : `, ${range}`;
  return scalar(`a duration such as ${example(leastMs)} or 1h30m${limits}`, (value) => {
    const ms = typeof value === "string" ? parseDuration(value) : value === 0 ? 0 : undefined;
    return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined;
  }).meta({
    ...textLike(durationPattern),
    ...(leastMs === 0 ? { type: ["string", "integer"], minimum: 0, maximum: 0 } : {}),
  });
}

function example(leastMs: number): string {
  return formatDuration(Math.max(leastMs, 30_000));
}
