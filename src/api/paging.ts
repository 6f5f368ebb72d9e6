import { z } from "zod";
import { allTime } from "../store/changes.ts";
import type { ListCursor } from "../store/queries.ts";
import type { TimeContext, TimeRange } from "../reports/time-range.ts";
import {
  limitField,
  notes,
  nullableText,
  parsed,
  rangeFields,
  readRange,
  serverFields,
} from "./fields.ts";

/** How lists are read a page at a time, and followed. */

export const previousNext = "next of the previous page";

export const nextField = nullableText.describe(
  "The `cursor` or `before` of the next page; null: none",
);

/** A page of what was found, of which one more was requested than fits a page. */
export function pageOf<Row>(found: readonly Row[], size: number, cursorOf: (last: Row) => string) {
  const page = found.slice(0, size);
  const last = page.at(-1);
  return { page, next: last && found.length > size ? cursorOf(last) : null };
}

/** `before` of a list that is ordered by time and id. */
export const beforeField = parsed(previousNext, (written): ListCursor | undefined => {
  const [, atMs, id] = /^(\d{1,15})_(.+)$/.exec(written) ?? [];
  return id === undefined ? undefined : { atMs: Number(atMs), id };
}).optional();

export function placeText(atMs: number, id: string): string {
  return `${atMs}_${id}`;
}

/** The names of the last entry of the previous page, so that later changes move no other entry. */
export function namesCursor<Names extends z.ZodType<readonly string[]>>(schema: Names) {
  return parsed(previousNext, (written): z.output<Names> | undefined => {
    try {
      return schema.parse(JSON.parse(Buffer.from(written, "base64url").toString()));
    } catch {
      return undefined;
    }
  })
    .optional()
    .describe("`next` of the previous page");
}

export function namesCursorText(lastNames: readonly string[]): string {
  return Buffer.from(JSON.stringify(lastNames)).toString("base64url");
}

export function cursorField(allowed: string, isCursor: (written: string) => boolean) {
  return z.string(allowed).refine(isCursor, allowed).optional();
}

export const historyFields = {
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
