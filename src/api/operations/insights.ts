import { z } from "zod";
import { weekdays } from "../../reports/cells.ts";
import { dayMs, weekMs } from "../../reports/forecast.ts";
import { readInsights } from "../../reports/insights.ts";
import type { Insights } from "../../reports/insights.ts";
import { checkBegun } from "../../reports/open-report.ts";
import type { HistoryContext } from "../context.ts";
import { timeText } from "../fields.ts";
import { defineOperation } from "../operation.ts";
import { readRange } from "../time-range.ts";
import { reportRequest, toSeconds } from "./occupancy.ts";

const thresholdAllowed = "a share above 0 and up to 1, such as 0.9";

const insightsRequest = reportRequest.omit({ by: true }).extend({
  from: z.string().default("28d"),
  threshold: z.coerce
    .number(thresholdAllowed)
    .gt(0, thresholdAllowed)
    .max(1, thresholdAllowed)
    .default(0.9),
});
export type InsightsRequest = z.input<typeof insightsRequest>;

const targetLabels = { region: z.string(), key: z.string() };
const serverLabels = {
  ...targetLabels,
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: z.string().nullable(),
};
const errantServers = z
  .array(z.object({ ...serverLabels, errors: z.number(), error_seconds: z.number() }))
  .readonly();

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
  ran_out: z
    .array(
      z.object({
        ...targetLabels,
        server_name: z.string(),
        exhausted_seconds: z.number(),
        /** Calendar hours in which it happened. */
        hours: z.number(),
      }),
    )
    .readonly(),
  occupied_long: z
    .array(
      z.object({
        ...serverLabels,
        occupied_seconds: z.number(),
        /** False: at least that long. */
        exact: z.boolean(),
        /** 95 of 100 dwell times of the name were shorter. */
        usual_seconds: z.number(),
      }),
    )
    .readonly(),
  forecast: z.object({
    threshold: z.number(),
    /** When the occupied share will exceed it; null: see `reason`. */
    passes_at: z.string().nullable(),
    rise_per_week: z.number().nullable(),
    reason: z.enum(["too_little", "passed_already", "no_rise", "too_far"]).nullable(),
  }),
});
export type InsightsView = z.output<typeof insightsView>;

export const computeInsights = defineOperation({
  name: "computeInsights",
  method: "GET",
  path: "/insights",
  summary:
    "The busiest hour, frequent and long errors, exhausted names, long stays, and a forecast",
  request: insightsRequest,
  response: insightsView,
  timeoutMs: 5 * 60_000,
  async handle({ reports: sources, clock }: HistoryContext, request) {
    const { from, to, tz, region, key, threshold } = request;
    const nowMs = clock.now().utcMs;
    const asked = readRange({ from, to }, { nowMs, zone: tz });
    checkBegun(asked, nowMs);
    const range = { fromMs: asked.fromMs, toMs: Math.min(asked.toMs, nowMs) };
    const filter = { ...(region.length > 0 && { region }), ...(key.length > 0 && { key }) };

    const found = await readInsights({ range, zone: tz, filter, nowMs, threshold }, sources);
    return {
      from: timeText(range.fromMs),
      to: timeText(range.toMs),
      tz: tz.name,
      busiest_hour: viewBusiest(found.busiestHour),
      erred_most_often: found.erredMostOften.map(viewErrant),
      erred_longest: found.erredLongest.map(viewErrant),
      ran_out: found.ranOut.map(({ region: at, key: by, serverName, exhaustedMs, hours }) => ({
        region: at,
        key: by,
        server_name: serverName,
        exhausted_seconds: toSeconds(exhaustedMs),
        hours,
      })),
      occupied_long: found.occupiedLong.map((dwell) => ({
        ...viewServer(dwell),
        occupied_seconds: toSeconds(dwell.occupiedMs),
        exact: dwell.isExact,
        usual_seconds: toSeconds(dwell.usualMs),
      })),
      forecast: viewForecast(found.forecast, threshold, nowMs),
    };
  },
});

function viewBusiest(busiest: Insights["busiestHour"]): InsightsView["busiest_hour"] {
  if (!busiest) return null;
  const { weekday, hour, occupiedShare, weeks } = busiest;
  return { weekday, hour, occupied_share: occupiedShare, weeks };
}

type Errant = Insights["erredLongest"][number];

function viewErrant(server: Errant): InsightsView["erred_longest"][number] {
  const { errors, errorMs } = server;
  return { ...viewServer(server), errors, error_seconds: toSeconds(errorMs) };
}

function viewServer(server: Errant | Insights["occupiedLong"][number]) {
  const { region, key, sandboxId, serverId, serverName } = server;
  return {
    region,
    key,
    sandbox_id: sandboxId,
    server_id: serverId,
    server_name: serverName,
  };
}

/** Weeks end at midnight in UTC, so a forecast counts from midnight. */
function viewForecast(
  found: Insights["forecast"],
  threshold: number,
  nowMs: number,
): InsightsView["forecast"] {
  if (found.kind === "none") {
    return { threshold, passes_at: null, rise_per_week: null, reason: found.reason };
  }
  const atMs = Math.floor(nowMs / dayMs) * dayMs + found.inWeeks * weekMs;
  return {
    threshold,
    passes_at: timeText(atMs),
    rise_per_week: found.risePerWeek,
    reason: null,
  };
}
