import { durationPattern, parseDuration } from "../fleet/duration.ts";
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
    .describe("How long changes of servers, resolved incidents and unobserved time are kept."),
  "5m": kept()
    .prefault("30d")
    .describe(
      "How long buckets of five minutes are kept. A bucket holds the time that servers spent in each status.",
    ),
  "1h": kept().prefault("400d").describe("How long buckets of an hour are kept."),
  "1d": kept().prefault("forever").describe("How long buckets of a day (UTC) are kept."),
}).transform(({ changes, ...buckets }): HistoryConfig => ({ changes, buckets }));
