import { z } from "zod";
import { targetName } from "../../fleet/model.ts";
import { bucketStart } from "../../fleet/buckets.ts";
import { weekdays } from "../../reports/cells.ts";
import { createHoursOfWeek } from "../../reports/insights/busiest-hour.ts";
import { most, readErrantServers } from "../../reports/insights/errant-servers.ts";
import type { ErrantServer } from "../../reports/insights/errant-servers.ts";
import { forecast } from "../../reports/insights/forecast.ts";
import type { Forecast } from "../../reports/insights/forecast.ts";
import type { LongDwell } from "../../reports/insights/long-dwells.ts";
import { createNameSums } from "../../reports/insights/name-sums.ts";
import { readPresent } from "../../reports/insights/present.ts";
import { dayMs, readWeeks, weekMs } from "../../reports/insights/weeks.ts";
import { checkBegun } from "../../reports/open-report.ts";
import { selectTargets } from "../../reports/targets.ts";
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

/** Of each kind. */
const mostShown = 10;

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

    const hours = createHoursOfWeek(tz);
    const names = createNameSums();
    const resolution = "1h";
    const wholeHours = { ...range, fromMs: bucketStart(resolution, range.fromMs) };
    for await (const some of sources.occupancy.buckets({ ...wholeHours, ...filter, resolution })) {
      for (const { target, bucket } of some) {
        for (const { ms } of bucket.names.values()) hours.add(bucket.startMs, ms);
        names.add(target, bucket);
      }
    }

    const extents = await sources.occupancy.extents();
    const watched = await sources.targets();
    const targets = selectTargets(watched, extents, { range, filter, nowMs });
    const configured = new Set(
      watched.filter(({ isConfigured }) => isConfigured).map(({ target }) => targetName(target)),
    );
    const { longest, ...present } = await readPresent(sources, targets, {
      configured,
      usualMaximumOf: names.usualMaximumOf(),
      mostDwells: mostShown,
    });
    const erred = await readErrantServers({ range, targets, ...present, filter, extents, sources });

    return {
      from: timeText(range.fromMs),
      to: timeText(range.toMs),
      tz: tz.name,
      busiest_hour: viewBusiest(hours.busiest()),
      erred_most_often: most(erred, "errors", mostShown).map(viewErrant),
      erred_longest: most(erred, "errorMs", mostShown).map(viewErrant),
      ran_out: names.exhausted(mostShown).map(({ serverName, exhaustedMs, ...name }) => ({
        region: name.region,
        key: name.key,
        server_name: serverName,
        exhausted_seconds: toSeconds(exhaustedMs),
        hours: name.hours,
      })),
      occupied_long: longest.map(viewDwell),
      forecast: viewForecast(
        forecast(await readWeeks(sources.occupancy, nowMs, filter), threshold),
        threshold,
        nowMs,
      ),
    };
  },
});

function viewBusiest(
  busiest: ReturnType<ReturnType<typeof createHoursOfWeek>["busiest"]>,
): InsightsView["busiest_hour"] {
  if (!busiest) return null;
  const { weekday, hour, occupiedShare, weeks } = busiest;
  return { weekday, hour, occupied_share: occupiedShare, weeks };
}

function viewErrant(server: ErrantServer): InsightsView["erred_longest"][number] {
  const { errors, errorMs } = server;
  return { ...viewServer(server), errors, error_seconds: toSeconds(errorMs) };
}

function viewDwell(stay: LongDwell): InsightsView["occupied_long"][number] {
  const { occupiedMs, isExact, usualMs } = stay;
  return {
    ...viewServer(stay),
    occupied_seconds: toSeconds(occupiedMs),
    exact: isExact,
    usual_seconds: toSeconds(usualMs),
  };
}

function viewServer(server: ErrantServer | LongDwell) {
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
function viewForecast(found: Forecast, threshold: number, nowMs: number): InsightsView["forecast"] {
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
