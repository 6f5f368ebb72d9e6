import { z } from "zod";
import { parseDuration } from "../fleet/text.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { allTime, isRangeFault, readTimeRange, timeAllowed } from "../reports/time-range.ts";
import type { TimeContext, TimeRange, WrittenRange } from "../reports/time-range.ts";
import { openZone, utc, type Zone } from "../reports/zone.ts";

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
  return z.string(allowed).describe(allowed).trim().min(1, allowed).max(longest, tooLong);
}

export const authorField = text(100, "the name of the author");
export const serverText = text(1_000, "a server's id, a prefix of one, or a server's name");
export const sandboxText = text(1_000, "a sandbox's id, or a prefix of one");
/** Somebody may have heard it and typed it in capitals. */
export const idBeginning = z.string().trim().toLowerCase().describe("The id, or a prefix of it");

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

export const longestDurationMs = 366 * 24 * 60 * 60 * 1_000;

/** A text that stands for a value. @param parse gives undefined for any other text */
export function parsed<Value>(allowed: string, parse: (written: string) => Value | undefined) {
  return z
    .string(allowed)
    .describe(allowed)
    .transform((written, context): Value => {
      const value = parse(written);
      if (value !== undefined) return value;
      context.addIssue({ code: "custom", message: allowed });
      return z.NEVER;
    });
}

export const durationField = parsed(
  "a duration such as 30m, 2h or 1d12h",
  parseDuration,
).optional();

export const targetFields = {
  region: names.describe("Names of regions"),
  key: names.describe("Names of keys"),
  label: names.describe("Labels of keys, such as `team=search`: only keys that have all of them"),
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
  from: z.string(timeAllowed).describe(timeAllowed),
  to: z.string(timeAllowed).describe(timeAllowed).optional(),
  /** The zone of times, days and hours. */
  tz: parsed("a time zone such as UTC, Europe/Berlin or +05:30", (name): Zone | undefined =>
    openZone(name),
  ).default(utc),
};

/** @throws {RefusedError} when it is not a range */
export function readRange(written: WrittenRange, context: TimeContext): TimeRange {
  const range = readTimeRange(written, context);
  if (!isRangeFault(range)) return range;
  return refuseField(range.field, range.allowed);
}

/** @throws {RefusedError} as a field of a request cannot be used */
export function refuseField(
  path: string,
  allowed: string,
  why = "The request cannot be used",
): never {
  throw new RefusedError("invalid", `${why}. Allowed: ${path}: ${allowed}`, [{ path, allowed }]);
}

/** What reports take of the chosen targets; an empty list chooses all. */
export function targetFilter({ region, key }: Record<"region" | "key", readonly string[]>) {
  return { ...(region.length > 0 && { region }), ...(key.length > 0 && { key }) };
}

export const previousNext = "next of the previous page";

export const nextField = nullableText.describe(
  "The `cursor` or `before` of the next page; null: none",
);

/** A page of what was found, of which one more was requested than fits a page. */
export function pageOf<Row>(found: readonly Row[], size: number, toCursor: (last: Row) => string) {
  const page = found.slice(0, size);
  const last = page.at(-1);
  return { page, next: last && found.length > size ? toCursor(last) : null };
}

/** Where a list continues, as a text that only this program reads. @param schema of what it holds */
export function cursorOf<Schema extends z.ZodType>(schema: Schema) {
  return parsed(previousNext, (written): z.output<Schema> | undefined => {
    try {
      return schema.parse(JSON.parse(Buffer.from(written, "base64url").toString()));
    } catch {
      return undefined;
    }
  })
    .optional()
    .describe("`next` of the previous page");
}

export function cursorText(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Of a list that is ordered by time and id. */
export const beforeField = cursorOf(z.object({ atMs: z.int(), id: z.string() }));

export function cursorField(allowed: string, isCursor: (written: string) => boolean) {
  return z.string(allowed).refine(isCursor, allowed).optional();
}

const historyFields = {
  ...serverFields,
  ...rangeFields,
  from: rangeFields.from.optional(),
  limit: limitField,
};

/**
 * Lists of what was stored. With `after` a list continues in the order of storage, which no range of time and no page
 * applies to.
 */
export function historyRequest<Shape extends z.ZodRawShape>(
  shape: Shape,
  isCursor: (written: string) => boolean,
) {
  const after = cursorField("after of a previous response", isCursor);
  return z
    .strictObject({ ...historyFields, ...shape, after })
    .refine(
      (query: { after?: unknown; before?: unknown; from?: unknown; to?: unknown }) =>
        query.after === undefined || (query.before ?? query.from ?? query.to) === undefined,
      "after without before, from and to",
    );
}

/** How such a list continues. */
export const continuation = {
  next: nextField,
  after: z.string().describe("`after` of the request for what is stored later"),
  notes,
};

/** A range as reports have it, open at an end that is not given. @throws {RefusedError} */
export function historyRange(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  context: TimeContext,
): TimeRange {
  if (from === undefined && to === undefined) return allTime;
  const range = readRange({ from: from ?? "1970-01-01T00:00Z", to }, context);
  return {
    fromMs: from === undefined ? allTime.fromMs : range.fromMs,
    toMs: to === undefined && range.toMs === context.nowMs ? allTime.toMs : range.toMs,
  };
}
