import { z } from "zod";
import { RefusedError } from "../lib/refusal.ts";
import { isRangeFault, readTimeRange, timeAllowed } from "../reports/time-range.ts";
import type { TimeContext, TimeRange, WrittenRange } from "../reports/time-range.ts";
import { openZone, utc } from "../reports/zone.ts";
import type { Zone } from "../reports/zone.ts";

/** Fields that several operations have in common. */

/** Times in responses are ISO 8601 in UTC. */
export const time = z.string().meta({ format: "date-time" });
export const nullableTime = time.nullable();
export const nullableText = z.string().nullable();
export const texts = listed(z.string());
/** Remarks about a valid request, such as an unknown name. */
export const notes = texts;

export const targetLabels = { region: z.string(), key: z.string() };
export const serverLabels = {
  ...targetLabels,
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: nullableText,
};

/** A list in a response. */
export function listed<Item extends z.ZodType>(item: Item) {
  return z.array(item).readonly();
}

/** A text that is trimmed and not empty. @param allowed what the text is */
export function text(longest: number, allowed: string) {
  const tooLong = `${allowed}, of at most ${longest} characters`;
  return z.string(allowed).trim().min(1, allowed).max(longest, tooLong);
}

export const authorField = text(100, "the name of the author");
export const serverText = text(1_000, "a server's id, the beginning of one, or a server's name");
export const sandboxText = text(1_000, "a sandbox's id, or the beginning of one");
export const idBeginning = z.string().describe("The id, or the beginning of it");

/** One value, several separated by `separator`, or a list. Default: none. */
export function listOf<Item extends z.ZodType<string>>(item: Item, separator = ",") {
  return z
    .preprocess(
      (value) => (typeof value === "string" ? value.split(separator) : (value ?? [])),
      z.array(item).max(100),
    )
    .optional()
    .transform((items) => items ?? []);
}

export function listOfWords<const Words extends readonly string[]>(words: Words) {
  return listOf(z.enum(words, words.join(", ")));
}

export const names = listOf(z.string().min(1).max(1_000));

/** As JSON has it, or a query. */
export const flag = z
  .union([z.boolean(), z.enum(["true", "false"])], "true or false")
  .transform((value) => value === true || value === "true")
  .default(false);

export function limitOf(usual: number, most = 1_000) {
  const allowed = `a whole number from 1 to ${most}`;
  return z.coerce.number(allowed).int(allowed).min(1, allowed).max(most, allowed).default(usual);
}

export const limitField = limitOf(100);

/** A text that stands for a value. @param parse gives undefined for any other text */
export function parsed<Value>(allowed: string, parse: (written: string) => Value | undefined) {
  return z.string(allowed).transform((written, context): Value => {
    const value = parse(written);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message: allowed });
    return z.NEVER;
  });
}

export const targetFields = {
  region: names.describe("Names of regions"),
  key: names.describe("Names of keys"),
};

/** Of servers of the past. */
export const serverFields = {
  ...targetFields,
  server: serverText.optional(),
  sandbox: sandboxText.optional(),
  /** Names from the service may contain commas: several are given one by one. */
  name: listOf(z.string(), "\0"),
};

export const rangeFields = {
  from: z.string(timeAllowed),
  to: z.string(timeAllowed).optional(),
  /** The zone of times, days and hours. */
  tz: parsed("a time zone such as UTC, Europe/Berlin or +05:30", (name): Zone | undefined =>
    openZone(name),
  ).default(utc),
};

/** @throws {RefusedError} when it is not a range */
export function readRange(written: WrittenRange, context: TimeContext): TimeRange {
  const range = readTimeRange(written, context);
  if (!isRangeFault(range)) return range;
  const { field: path, allowed } = range;
  throw new RefusedError("invalid", `The request cannot be used. Allowed: ${path}: ${allowed}`, [
    { path, allowed },
  ]);
}
