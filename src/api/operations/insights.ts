import { z } from "zod";
import { weekdays } from "../../reports/calendar-cells.ts";
import { dayMs, weekMs, type Forecast } from "../../reports/forecast.ts";
import { readInsights } from "../../reports/insights.ts";
import { checkBegun } from "../../reports/open-report.ts";
import { isPoolField, readFields } from "../../reports/report-fields.ts";
import type { HistoryContext } from "../context.ts";
import { listed, readRange, serverLabels, targetLabels } from "../fields.ts";
import { defineOperation } from "../operation.ts";
import { timeText, toRatio, toView } from "../view-fields.ts";
import { reportRequest } from "./occupancy.ts";

const thresholdAllowed = "a share above 0 and up to 1, such as 0.9";

const poolsAllowed = "one or more, separated by commas, of region, key, server_name";

const forecastFields = {
  threshold: z.number(),
  level: z.number().nullable().describe("The occupied share of the last whole week"),
  /** When the occupied share will reach the threshold; null: see `reason`. */
  passes_at: z.string().nullable(),
  rise_per_week: z.number().nullable(),
  reason: z.enum(["too_little", "passed_already", "no_rise", "too_far"]).nullable(),
};

const insightsRequest = reportRequest.omit({ by: true }).extend({
  by: z
    .string()
    .default("server_name")
    .transform((text, context) => {
      const read = readFields(text);
      const fields = "fields" in read ? read.fields : [];
      if (fields.length > 0 && fields.every(isPoolField)) return fields;
      context.addIssue({ code: "custom", message: poolsAllowed });
      return z.NEVER;
    })
    .describe("The fields by which servers are pooled for forecasts"),
  from: z.string().default("28d"),
  threshold: z.coerce
    .number(thresholdAllowed)
    .gt(0, thresholdAllowed)
    .max(1, thresholdAllowed)
    .default(0.9),
});
export type InsightsRequest = z.input<typeof insightsRequest>;

const errantServers = listed(
  z.object({ ...serverLabels, errors: z.number(), error_seconds: z.number() }),
);

const insightsView = z.object({
  from: z.string(),
  to: z.string(),
  tz: z.string(),
  /** Null: not one whole week was observed. */
  busiest_hour: z
    .object({
      weekday: z.enum(weekdays),
      hour: z.number(),
      occupied_share: z.number(),
      weeks: z.number(),
    })
    .nullable(),
  erred_most_often: errantServers,
  erred_longest: errantServers,
  ran_out: listed(
    z.object({
      ...targetLabels,
      server_name: z.string(),
      exhausted_seconds: z.number(),
      hours: z.number().describe("Calendar hours in which it happened"),
    }),
  ),
  occupied_long: listed(
    z.object({
      ...serverLabels,
      occupied_seconds: z.number(),
      exact: z.boolean().describe("False: at least that long"),
      usual_seconds: z.number().describe("95 of 100 dwell times of the name were shorter"),
    }),
  ),
  /** Of all servers. */
  forecast: z.object(forecastFields),
  /** By pool, those that reach the threshold first at the beginning. */
  forecasts: listed(
    z.object({
      region: z.string().optional(),
      key: z.string().optional(),
      server_name: z.string().optional(),
      ...forecastFields,
    }),
  ),
});
export type InsightsView = z.output<typeof insightsView>;

export const computeInsights = defineOperation({
  name: "computeInsights",
  isHeavy: true,
  method: "GET",
  permission: "read",
  path: "/insights",
  summary:
    "The busiest hour, frequent and long errors, names without an idle server, long dwell times, and a forecast",
  request: insightsRequest,
  response: insightsView,
  timeoutMs: 5 * 60_000,
  async handle({ reports: sources, clock }: HistoryContext, request) {
    const { from, to, tz, region, key, threshold, by: pools } = request;
    const nowMs = clock.now().utcMs;
    const asked = readRange({ from, to }, { nowMs, zone: tz });
    checkBegun(asked, nowMs);
    const range = { fromMs: asked.fromMs, toMs: Math.min(asked.toMs, nowMs) };
    const filter = { ...(region.length > 0 && { region }), ...(key.length > 0 && { key }) };

    const found = await readInsights({ range, zone: tz, filter, nowMs, threshold, pools }, sources);
    const { busiestHour } = found;
    // Weeks end at midnight in UTC, so a forecast counts from midnight.
    const midnightMs = Math.floor(nowMs / dayMs) * dayMs;
    const viewForecast = ({ level, risePerWeek, inWeeks, reason }: Forecast) => ({
      threshold,
      level: toRatio(level),
      passes_at: inWeeks === null ? null : timeText(midnightMs + inWeeks * weekMs),
      rise_per_week: toRatio(risePerWeek),
      reason,
    });
    return {
      from: timeText(range.fromMs),
      to: timeText(range.toMs),
      tz: tz.name,
      busiest_hour: busiestHour && toView(busiestHour),
      erred_most_often: found.erredMostOften.map(toView),
      erred_longest: found.erredLongest.map(toView),
      ran_out: found.ranOut.map((name) => {
        const { dwells: _, ...fields } = name;
        return toView(fields);
      }),
      occupied_long: found.occupiedLong.map(({ isExact: exact, ...dwell }) =>
        toView({ ...dwell, exact }),
      ),
      forecast: viewForecast(found.forecast),
      forecasts: found.forecasts.map(({ pool, forecast }) => ({
        ...pool,
        ...viewForecast(forecast),
      })),
    };
  },
});
