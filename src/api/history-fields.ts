import { z } from "zod";
import { timeAllowed } from "../reports/time-range.ts";
import type { TimeContext, TimeRange } from "../reports/time-range.ts";
import { allTime } from "../store/changes.ts";
import { limit, names, nullableText, notes, serverText, text } from "./fields.ts";
import { readRange, zoneText } from "./time-range.ts";

/** Names from the service may contain commas: several are given one by one. */
const wholeNames = z
  .preprocess(
    (value) => (typeof value === "string" ? [value] : (value ?? [])),
    z.array(z.string()).max(100),
  )
  .optional()
  .transform((items) => items ?? []);

export const serverFields = {
  region: names,
  key: names,
  server: serverText.optional(),
  sandbox: text(1_000, "a sandbox's id, or the beginning of one").optional(),
  name: wholeNames,
};

export const historyFields = {
  ...serverFields,
  from: z.string(timeAllowed).optional(),
  to: z.string(timeAllowed).optional(),
  /** The zone of `from` and `to`. */
  tz: zoneText,
  limit,
};

export function placeField(allowed: string, isPlace: (written: string) => boolean) {
  return z.string(allowed).refine(isPlace, allowed).optional();
}

export const previousAfter = "after of a previous response";

/** With `after` a list continues in the order of storage, which no range of time and no page applies to. */
export function oneOrder<Query extends z.ZodObject>(query: Query) {
  return query.refine(
    ({ after, before, from, to }) => after === undefined || (before ?? from ?? to) === undefined,
    "after without before, from and to",
  );
}

/** How a list continues. */
export const continuation = {
  /** `before` of the next page; null: there is none. */
  next: nullableText,
  /** `after` of the request for what is stored later. */
  after: z.string(),
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
