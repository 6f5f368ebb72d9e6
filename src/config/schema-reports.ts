import { durationPattern, parseDuration } from "../fleet/text.ts";
import { name, namesOf, optional, refuse, settings, textOf } from "./fields.ts";
import { cronExpression, timeZone } from "./schedule-fields.ts";
import { poolBySchema } from "./schema-pool-rule.ts";
import { someOf } from "./schema-probes.ts";

const hourMs = 60 * 60_000;

/** Schedules that have a name. */
const named = { daily: "0 8 * * *", weekly: "0 8 * * MON", monthly: "0 8 1 * *" };

const scheduleAllowed =
  "daily, weekly, monthly, or a cron expression of five fields that comes at most once an hour, such as 0 8 * * MON";

const scheduleSchema = cronExpression(scheduleAllowed, false, named).transform(
  (expression, context) => {
    // One minute, and one second if there is that field.
    const within = expression.trim().split(/\s+/).slice(0, -4);
    return within.every((field) => /^\d+$/.test(field))
      ? expression
      : refuse(context, scheduleAllowed);
  },
);

/** Those of `sandwatch report` that are over, and never empty, whenever the report is due. */
const ranges = ["yesterday", "last week", "last month"];
const longestRangeMs = 3_660 * 24 * hourMs;

const rangeSchema = textOf(
  `${ranges.join(", ")}, or a duration such as 7d, from 1h to 3660d`,
  new RegExp(`${durationPattern.source}|^(?:${ranges.join("|")})$`),
  (text) => {
    const ms = parseDuration(text) ?? 0;
    return ranges.includes(text) || (ms >= hourMs && ms <= longestRangeMs) ? text : undefined;
  },
  ranges,
);

function usualRange(schedule: string): string {
  if (schedule === named.daily) return "yesterday";
  return schedule === named.monthly ? "last month" : "last week";
}

export const reportSchema = settings({
  name: name().describe("The name of the report. It must be unique."),
  schedule: scheduleSchema.describe(
    "When the report is due: `daily`, `weekly` (on Mondays) or `monthly` (on the first), at 08:00, or a cron expression. Daylight saving is treated as in maintenance windows.",
  ),
  timeZone: timeZone()
    .prefault("UTC")
    .describe("The time zone of `schedule`, of the range and of the days and hours of the report."),
  range: optional(
    rangeSchema,
    "`yesterday` with `daily`, `last month` with `monthly`, otherwise `last week`",
    "What the report is about, as of the moment at which it is due.",
  ),
  by: poolBySchema
    .prefault(["region", "key"])
    .describe("The fields that rows are by. With `[]` there are only the figures of everything."),
  regions: someOf("region", "that the report is about"),
  keys: someOf("key", "that the report is about"),
  receivers: namesOf("receiver")
    .min(1, "at least one receiver")
    .describe(
      "The receivers that get the report: of any type but `pagerduty`, `alertmanager`, `heartbeat` and a `webhook` with `format: alertmanager`.",
    ),
}).transform((report) => ({ ...report, range: report.range ?? usualRange(report.schedule) }));
