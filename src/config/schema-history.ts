import { parseDuration } from "../core/duration.ts";
import type { HistoryConfig } from "./config.ts";
import { scalar, settings } from "./fields.ts";

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
  );

export const historySchema = settings({
  changes: kept().default(400 * dayMs),
  "5m": kept().default(30 * dayMs),
  "1h": kept().default(400 * dayMs),
  "1d": kept().default(null),
}).transform(({ changes, ...buckets }): HistoryConfig => ({ changes, buckets }));
