import { z } from "zod";
import { weekdays } from "../../reports/calendar-cells.ts";
import { readInsights } from "../../reports/insights.ts";
import { reportedKinds } from "../../reports/report-fields.ts";
import type { HistoryContext } from "../context.ts";
import { listed, nullableText, serverLabels, targetLabels } from "../fields.ts";
import { defineQuery } from "../operation.ts";
import { timeText, toView } from "../view-fields.ts";
import {
  outlookFields,
  outlookQuery,
  outlookRequest,
  poolsField,
  viewOutlooks,
  type OutlookRequest,
} from "./outlook.ts";

export type InsightsRequest = OutlookRequest;

const unitLabels = {
  ...serverLabels,
  server_id: nullableText.describe("Null: it is a sandbox"),
};

const errantUnits = listed(
  z.object({ ...unitLabels, errors: z.number(), error_seconds: z.number() }),
);

const insightsView = z.object({
  from: z.string(),
  to: z.string(),
  tz: z.string(),
  of: z.enum(reportedKinds),
  /** Null: not one whole week was observed. */
  busiest_hour: z
    .object({
      weekday: z.enum(weekdays),
      hour: z.number(),
      occupied_share: z.number(),
      weeks: z.number(),
    })
    .nullable(),
  erred_most_often: errantUnits,
  erred_longest: errantUnits,
  ran_out: listed(
    z.object({
      ...targetLabels,
      server_name: z.string().optional(),
      benchmark: z.string().optional().describe("Of sandboxes, instead of the name"),
      exhausted_seconds: z.number(),
      hours: z.number().describe("Calendar hours in which it happened"),
    }),
  ),
  occupied_long: listed(
    z.object({
      ...unitLabels,
      occupied_seconds: z.number(),
      exact: z.boolean().describe("False: at least that long"),
      usual_seconds: z
        .number()
        .describe("95 of 100 dwell times of the name or benchmark were not longer"),
      usual_least_seconds: z.number().describe("The same as the most: it is exact"),
      usual_most_seconds: z.number().nullable().describe("Null: it has no upper bound"),
    }),
  ),
  answer: z
    .string()
    .describe("When the first pool runs out of idle servers or sandboxes, in a sentence"),
  forecast: z.object(outlookFields).describe("All together"),
  forecasts: poolsField,
});
export type InsightsView = z.output<typeof insightsView>;

export const computeInsights = defineQuery({
  name: "computeInsights",
  isHeavy: true,
  path: "/insights",
  summary:
    "The busiest hour, frequent and long errors, names without an idle server or benchmarks without an idle sandbox, long dwell times, and a forecast",
  request: outlookRequest,
  response: insightsView,
  async handle({ reports: sources, clock }: HistoryContext, request) {
    const query = outlookQuery(request, clock.now().utcMs);
    const { range } = query;
    const zone = request.tz;
    const found = await readInsights({ ...query, zone }, sources);
    const { answer, all, pools } = viewOutlooks(found.outlooks, query);
    const { busiestHour } = found;
    return {
      from: timeText(range.fromMs),
      to: timeText(range.toMs),
      tz: zone.name,
      of: query.of,
      answer,
      busiest_hour: busiestHour && toView(busiestHour),
      erred_most_often: found.erredMostOften.map(toView),
      erred_longest: found.erredLongest.map(toView),
      ran_out: found.ranOut.map((name) => {
        const { dwells: _, value, ...fields } = name;
        const ofValue = query.of === "servers" ? { serverName: value } : { benchmark: value };
        return toView({ ...fields, ...ofValue });
      }),
      occupied_long: found.occupiedLong.map(({ isExact: exact, ...dwell }) =>
        toView({ ...dwell, exact }),
      ),
      forecast: all,
      forecasts: pools,
    };
  },
});
