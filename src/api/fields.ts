import { z } from "zod";
import type { ListCursor } from "../store/queries.ts";

/** Fields that several operations have in common. */

/** Times in responses are ISO 8601 in UTC. */
export const time = z.string().meta({ format: "date-time" });
export const nullableTime = time.nullable();
export const nullableText = z.string().nullable();
export const texts = z.array(z.string()).readonly();
/** Remarks about a valid request, such as a name that nothing has. */
export const notes = texts;

export function timeText(utcMs: number): string;
export function timeText(utcMs: number | null): string | null;
export function timeText(utcMs: number | null): string | null {
  return utcMs === null ? null : new Date(utcMs).toISOString();
}

/** A text that is trimmed and not empty. @param allowed what the text is */
export function text(longest: number, allowed: string) {
  const tooLong = `${allowed}, of at most ${longest} characters`;
  return z.string(allowed).trim().min(1, allowed).max(longest, tooLong);
}

export const author = text(100, "the name of the author");
export const serverText = text(1_000, "a server's id, the beginning of one, or a server's name");
export const idBeginning = z.string().describe("The id, or the beginning of it");

/** One value, several separated by commas, or a list. Default: none. */
export function listOf<Item extends z.ZodType<string>>(item: Item) {
  return z
    .preprocess(
      (value) => (typeof value === "string" ? value.split(",") : (value ?? [])),
      z.array(item).max(100),
    )
    .optional()
    .transform((items) => items ?? []);
}

export const names = listOf(z.string().min(1));

/** As JSON has it, or a query. */
export const flag = z
  .union([z.boolean(), z.enum(["true", "false"])], "true or false")
  .transform((value) => value === true || value === "true")
  .default(false);

export function limitOf(usual: number, most = 1_000) {
  const allowed = `a whole number from 1 to ${most}`;
  return z.coerce.number(allowed).int(allowed).min(1, allowed).max(most, allowed).default(usual);
}

export const limit = limitOf(100);

/** A text that stands for a value. @param parse gives undefined for any other text */
export function parsed<Value>(allowed: string, parse: (written: string) => Value | undefined) {
  return z
    .string(allowed)
    .transform((written, context): Value => {
      const value = parse(written);
      if (value !== undefined) return value;
      context.addIssue({ code: "custom", message: allowed });
      return z.NEVER;
    })
    .optional();
}

export const previousNext = "next of the previous page";

/** `before` of a list that is ordered by time and id. */
export const before = parsed(previousNext, (written): ListCursor | undefined => {
  const match = /^(\d{1,15})_(.+)$/.exec(written);
  return match?.[1] && match[2] ? { atMs: Number(match[1]), id: match[2] } : undefined;
});

/** `next` of such a list: null when no more was found than fits one page. */
export function nextPlace<Row>(
  found: readonly Row[],
  pageSize: number,
  placeOf: (row: Row) => ListCursor,
): string | null {
  const last = found[pageSize - 1];
  if (found.length <= pageSize || last === undefined) return null;
  const { atMs, id } = placeOf(last);
  return `${atMs}_${id}`;
}
