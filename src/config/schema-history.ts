import { durationPattern, parseDuration } from "../core/duration.ts";
import type { HistoryConfig } from "./config.ts";
import { scalar, settings } from "./fields.ts";
import { textLike } from "./written.ts";

const dayMs = 24 * 60 * 60 * 1_000;

const keptAllowed = "a duration such as 400d, from 1d to 36500d, or forever";

/** Milliseconds; null: for ever. */
const kept = () =>
  scalar(
    keptAllowed,
    (value) => {
      if (value === "forever") return null;
      const ms = typeof value === "string" ? parseDuration(value) : undefined;
      return ms !== undefined && ms >= dayMs && ms <= 36_500 * dayMs ? ms : undefined;
    },
    ["forever"],
  ).meta(textLike(new RegExp(`${durationPattern.source}|^forever$`)));

export const historySchema = settings({
  changes: kept()
    .prefault("400d")
    .describe("Changes of servers, incidents that are resolved, and when nobody watched."),
  "5m": kept()
    .prefault("30d")
    .describe("How long servers were in which status, in stretches of five minutes."),
  "1h": kept().prefault("400d").describe("The same in hours."),
  "1d": kept().prefault("forever").describe("The same in days (UTC)."),
}).transform(({ changes, ...buckets }): HistoryConfig => ({ changes, buckets }));
