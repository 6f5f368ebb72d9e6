import { z } from "zod";
import { bucketStart } from "../../fleet/buckets.ts";
import { targetName } from "../../core/model.ts";
import { readRequest } from "../../interventions/requests.ts";
import { timeText } from "../../interventions/views.ts";
import { checkBegun } from "../open-report.ts";
import { rangeOf, reportRequest } from "../report-desk.ts";
import type { ReportSources } from "../sources.ts";
import { selectTargets } from "../targets.ts";
import type { ReportedTarget } from "../targets.ts";
import { toSeconds } from "../view.ts";
import { createHoursOfWeek } from "./busiest-hour.ts";
import { most, readErrantServers } from "./errant-servers.ts";
import type { ErrantServer, InError } from "./errant-servers.ts";
import { forecast } from "./forecast.ts";
import type { Forecast } from "./forecast.ts";
import { longestOf, longStayOf } from "./long-stays.ts";
import type { LongStay } from "./long-stays.ts";
import { createNameSums } from "./name-sums.ts";
import type { InsightsView } from "./view.ts";
import { dayMs, readWeeks, weekMs } from "./weeks.ts";

const thresholdAllowed = "a share above 0 and up to 1, such as 0.9";

export const insightsRequest = reportRequest.omit({ by: true }).extend({
  from: z.string().default("28d"),
  threshold: z.coerce
    .number(thresholdAllowed)
    .gt(0, thresholdAllowed)
    .max(1, thresholdAllowed)
    .default(0.9),
});
export type InsightsRequest = z.input<typeof insightsRequest>;

/** So many of each kind are told. */
const mostTold = 10;

/**
 * What no gauge gives, of a stretch of the history.
 *
 * @throws {RefusedError} when the request cannot be used
 */
export async function tellInsights(
  request: InsightsRequest,
  sources: ReportSources,
  nowMs: number,
): Promise<InsightsView> {
  const { from, to, tz, region, key, threshold } = readRequest(insightsRequest, request);
  const asked = rangeOf({ from, to }, { nowMs, zone: tz });
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
  const { longest, ...present } = await lookAround(sources, targets, {
    configured,
    usualMaximumOf: names.usualMaximumOf(),
  });
  const erred = await readErrantServers({ range, targets, ...present, filter, extents, sources });

  return {
    from: timeText(range.fromMs),
    to: timeText(range.toMs),
    tz: tz.name,
    busiest_hour: viewBusiest(hours.busiest()),
    erred_most_often: most(erred, "errors", mostTold).map(viewErrant),
    erred_longest: most(erred, "errorMs", mostTold).map(viewErrant),
    ran_out: names.exhausted(mostTold).map(({ serverName, exhaustedMs, ...name }) => ({
      region: name.region,
      key: name.key,
      server_name: serverName,
      exhausted_seconds: toSeconds(exhaustedMs),
      hours: name.hours,
    })),
    occupied_long: longest.map(viewStay),
    forecast: viewForecast(
      forecast(await readWeeks(sources.occupancy, nowMs, filter), threshold),
      threshold,
      nowMs,
    ),
  };
}

interface LookingAround {
  /** By name. The other targets are not watched any more: how long a stay there lasts nobody knows. */
  readonly configured: ReadonlySet<string>;
  readonly usualMaximumOf: (serverName: string) => number | null;
}

/** What there is now, in one look at each target: it may all have to be read from the store. */
async function lookAround(
  sources: Pick<ReportSources, "present">,
  targets: readonly ReportedTarget[],
  { configured, usualMaximumOf }: LookingAround,
) {
  const inError: InError[] = [];
  const lastPolls: (number | null)[] = [];
  let longest: readonly LongStay[] = [];
  for (const { target } of targets) {
    const { lastPollAtMs, servers } = await sources.present(target);
    lastPolls.push(lastPollAtMs);
    const atMs = configured.has(targetName(target)) ? lastPollAtMs : null;
    const stays: LongStay[] = [];
    for (const server of servers) {
      if (server.status === "error") inError.push({ target, server });
      const stay = atMs === null ? null : longStayOf(target, server, atMs, usualMaximumOf);
      if (stay) stays.push(stay);
    }
    longest = longestOf([...longest, ...stays], mostTold);
  }
  return { inError, lastPolls, longest };
}

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

function viewStay(stay: LongStay): InsightsView["occupied_long"][number] {
  const { occupiedMs, isExact, usualMs } = stay;
  return {
    ...viewServer(stay),
    occupied_seconds: toSeconds(occupiedMs),
    exact: isExact,
    usual_seconds: toSeconds(usualMs),
  };
}

function viewServer(server: ErrantServer | LongStay) {
  const { region, key, sandboxId, serverId, serverName } = server;
  return {
    region,
    key,
    sandbox_id: sandboxId,
    server_id: serverId,
    server_name: serverName,
  };
}

/** Weeks end at midnight in UTC: so does what a forecast counts from. */
function viewForecast(told: Forecast, threshold: number, nowMs: number): InsightsView["forecast"] {
  if (told.kind === "none") {
    return { threshold, passes_at: null, rise_per_week: null, reason: told.reason };
  }
  const atMs = Math.floor(nowMs / dayMs) * dayMs + told.inWeeks * weekMs;
  return {
    threshold,
    passes_at: timeText(atMs),
    rise_per_week: told.risePerWeek,
    reason: null,
  };
}
