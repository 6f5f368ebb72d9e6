import { z } from "zod";
import { dayMs, weekMs, type Forecast } from "../../reports/forecast.ts";
import { checkBegun } from "../../reports/open-report.ts";
import { standingOf, standings, type Outlook } from "../../reports/outlook.ts";
import { poolAnswer, poolNotes } from "../../reports/outlook-text.ts";
import { wholeRange } from "../../reports/outlook-series.ts";
import { nameOf, readOutlooks, type OutlookQuery, type Outlooks } from "../../reports/outlooks.ts";
import { isPoolField, readFields, reportedKinds } from "../../reports/report-fields.ts";
import type { GroupValues } from "../../reports/report-rows.ts";
import type { HistoryContext } from "../context.ts";
import {
  listed,
  nullableTime,
  rangeFields,
  readRange,
  targetFields,
  targetFilter,
  texts,
  time,
} from "../fields.ts";
import { defineQuery } from "../operation.ts";
import { ofField, refuseFieldsOfServers } from "./occupancy.ts";
import { timeText, toRatio, toSeconds } from "../view-fields.ts";

const thresholdAllowed = "a share above 0 and up to 1, such as 0.9";

const poolsAllowed =
  "one or more, separated by commas, of region, key, labels of keys, and one of server_name, benchmark and tag; of sandboxes: of region, key, labels and benchmark";

export const outlookRequest = z.strictObject({
  ...rangeFields,
  from: z.string().default("28d"),
  of: ofField,
  by: z
    .string()
    .transform((text, context) => {
      const read = readFields(text);
      const fields = "fields" in read ? read.fields : [];
      if (fields.length > 0 && fields.every(isPoolField)) return fields;
      context.addIssue({ code: "custom", message: poolsAllowed });
      return z.NEVER;
    })
    .optional()
    .describe(
      "The fields by which servers or sandboxes are pooled. Default: region, key and server_name, or of sandboxes region, key and benchmark",
    ),
  threshold: z.coerce
    .number(thresholdAllowed)
    .gt(0, thresholdAllowed)
    .max(1, thresholdAllowed)
    .default(0.9)
    .describe("The occupied share that is forecast of averages"),
  ...targetFields,
});
export type OutlookRequest = z.input<typeof outlookRequest>;

const nullable = z.number().nullable();
const reason = z
  .enum(["too_little", "passed_already", "no_rise", "step", "recent", "too_far"])
  .nullable();

export const outlookFields = {
  answer: z.string().describe("When the pool runs out of idle servers or sandboxes, in a sentence"),
  notes: texts.describe("What else there is to know, in sentences"),
  standing: z
    .enum(standings)
    .describe(
      "`full`: in the last week, at times none was idle. `perhaps_full`: that is an upper bound. `runs_out`: see `peak_passes_at`. `single`: it has one server or sandbox",
    ),
  servers: nullable.describe("Servers or sandboxes at the end of the last week that was observed"),
  headroom: nullable.describe("Those that were not occupied at the peak of the last week"),
  exact: z
    .boolean()
    .describe(
      "False: the pool is of several targets, peaks and times without an idle one are upper bounds, and headroom is a lower bound",
    ),
  peak: nullable.describe("The most that were occupied at a time in the range"),
  peak_at: nullableTime.describe(
    "The start of the hour of the peak, or of its day in a range of 36 days or more",
  ),
  observed_seconds: z.number().describe("Observed time in the range"),
  no_idle_seconds: z.number().describe("Observed time in the range in which none was idle"),
  no_idle_share: nullable.describe("Its share of observed time, from 0 to 1"),
  no_idle_longest_seconds: z.number().describe("Its longest stretch, which is at most that long"),
  no_idle_longest_at: nullableTime.describe("The start of the hour or day in which that began"),
  needed_servers: nullable.describe(
    "How many would have been enough for 99 % of the observed time",
  ),
  needed_more: z.boolean().describe("True: more than there were would have been needed"),
  resized_at: nullableTime.describe(
    "The start of the last week with a tenth more or fewer than before",
  ),
  weeks: z.number().describe("Whole weeks that were observed well enough for a trend"),
  peak_level: nullable.describe("The peak of the last week, as a share of `servers`"),
  peak_rise_per_week: nullable.describe("0.02 is 2 percentage points a week. Null: no trend"),
  peak_passes_at: nullableTime.describe(
    "When the weekly peak reaches all of them. Null: see `peak_reason`",
  ),
  peak_reason: reason,
  peak_step_at: nullableTime.describe(
    "The start of the week in which the weekly peak rose or fell once",
  ),
  peak_step_rise: nullable.describe("By how much: 0.25 is 25 percentage points"),
  threshold: z.number(),
  level: nullable.describe("The average of the last week, as a share of `servers`"),
  rise_per_week: nullable.describe("0.02 is 2 percentage points a week. Null: no trend"),
  passes_at: nullableTime.describe(
    "When the weekly average reaches the threshold. Null: see `reason`",
  ),
  reason,
  step_at: nullableTime.describe(
    "The start of the week in which the weekly average rose or fell once",
  ),
  step_rise: nullable.describe("By how much: 0.25 is 25 percentage points"),
};

const poolView = z.looseObject({
  region: z.string().optional(),
  key: z.string().optional(),
  server_name: z.string().optional(),
  benchmark: z.string().optional(),
  tag: z.string().optional(),
  ...outlookFields,
});

export const outlookColumns = poolView.keyof().exclude(["notes"]).options;

export const poolsField = listed(poolView).describe("Those that run out first at the beginning");

const outlookView = z.object({
  from: time,
  to: time,
  of: z.enum(reportedKinds),
  answer: z
    .string()
    .describe("When the first pool runs out of idle servers or sandboxes, in a sentence"),
  all: z.object(outlookFields).describe("All together"),
  pools: poolsField,
  further: z.number().describe("Pools that are not listed"),
});
export type OutlookView = z.output<typeof outlookView>;

const mostPools = 100;

export const computeOutlook = defineQuery({
  name: "computeOutlook",
  isHeavy: true,
  path: "/outlook",
  summary:
    "When servers or sandboxes run out: times without an idle one, peaks, headroom and forecasts by pool",
  request: outlookRequest,
  response: outlookView,
  async handle({ reports, clock }: HistoryContext, request) {
    const query = outlookQuery(request, clock.now().utcMs);
    const { range } = query;
    const occupancy = await reports.occupancy.open(query.filter);
    const found = viewOutlooks(await readOutlooks(query, occupancy, reports.labelsOf), query);
    return { from: timeText(range.fromMs), to: timeText(range.toMs), ...found };
  },
});

const serverPools = ["region", "key", "server_name"] as const;
const sandboxPools = ["region", "key", "benchmark"] as const;

/** @throws {RefusedError} when the range has not begun, or sandboxes do not have a field */
export function outlookQuery(
  { from, to, tz, of, by, region, key, threshold }: z.output<typeof outlookRequest>,
  nowMs: number,
): OutlookQuery {
  const pools = by ?? (of === "servers" ? serverPools : sandboxPools);
  if (of === "sandboxes") refuseFieldsOfServers(pools);
  const asked = readRange({ from, to }, { nowMs, zone: tz });
  checkBegun(asked, nowMs);
  const range = wholeRange(asked, nowMs);
  const filter = targetFilter({ region, key });
  return { of, range, filter, nowMs, threshold, pools };
}

export function viewOutlooks(
  { answer, all, pools }: Outlooks,
  query: Pick<OutlookQuery, "of" | "nowMs" | "threshold">,
) {
  return {
    of: query.of,
    answer,
    all: viewOutlook(all, {}, query),
    pools: pools
      .slice(0, mostPools)
      .map(({ pool, outlook }) => ({ ...pool, ...viewOutlook(outlook, pool, query) })),
    further: Math.max(0, pools.length - mostPools),
  };
}

function viewOutlook(
  outlook: Outlook,
  pool: GroupValues,
  { of, nowMs, threshold }: Pick<OutlookQuery, "of" | "nowMs" | "threshold">,
) {
  const { usage, weeks, peakForecast: peak, averageForecast: average } = outlook;
  const { longestNoIdle: longest, needed } = usage;
  // Weeks end at midnight in UTC, so a forecast counts from midnight.
  const midnightMs = Math.floor(nowMs / dayMs) * dayMs;
  const passesAt = ({ inWeeks }: Forecast) =>
    inWeeks === null ? null : timeText(midnightMs + inWeeks * weekMs);
  const stepAt = ({ step }: Forecast) =>
    step ? timeText(weeks[step.week]?.startMs ?? null) : null;
  return {
    answer: poolAnswer({ name: nameOf(pool), outlook }, of),
    notes: [...poolNotes(outlook, threshold, of)],
    standing: standingOf(outlook),
    servers: outlook.servers,
    headroom: outlook.headroom,
    exact: outlook.isExact,
    peak: usage.peak?.count ?? null,
    peak_at: timeText(usage.peak?.fromMs ?? null),
    observed_seconds: toSeconds(usage.observedMs),
    no_idle_seconds: toSeconds(usage.noIdleMs),
    no_idle_share: toRatio(usage.observedMs > 0 ? usage.noIdleMs / usage.observedMs : null),
    no_idle_longest_seconds: toSeconds(longest?.ms ?? 0),
    no_idle_longest_at: timeText(longest?.fromMs ?? null),
    needed_servers: needed?.servers ?? null,
    needed_more: needed?.isMore ?? false,
    resized_at: timeText(outlook.resize?.atMs ?? null),
    weeks: peak.weeks,
    peak_level: toRatio(peak.level),
    peak_rise_per_week: toRatio(peak.risePerWeek),
    peak_passes_at: passesAt(peak),
    peak_reason: peak.reason,
    peak_step_at: stepAt(peak),
    peak_step_rise: toRatio(peak.step?.rise ?? null),
    threshold,
    level: toRatio(average.level),
    rise_per_week: toRatio(average.risePerWeek),
    passes_at: passesAt(average),
    reason: average.reason,
    step_at: stepAt(average),
    step_rise: toRatio(average.step?.rise ?? null),
  };
}
