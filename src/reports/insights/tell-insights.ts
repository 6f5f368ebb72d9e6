import { z } from "zod";
import { bucketStart } from "../../core/occupancy/bucket.ts";
import { emptyServerSums } from "../../core/occupancy/server-sums.ts";
import { totalOfBucket } from "../../core/occupancy/server-sums.ts";
import { targetName } from "../../core/model.ts";
import { readRequest } from "../../interventions/requests.ts";
import { checkBegun } from "../open-report.ts";
import { rangeOf, reportRequest } from "../report-desk.ts";
import type { ReportSources } from "../sources.ts";
import { selectTargets } from "../targets.ts";
import { createHoursOfWeek } from "./busiest-hour.ts";
import { most, readErrantServers } from "./errant-servers.ts";
import type { ErrantServer } from "./errant-servers.ts";
import { forecast } from "./forecast.ts";
import type { Forecast } from "./forecast.ts";
import { longestOf, longStaysOf } from "./long-stays.ts";
import type { LongStay } from "./long-stays.ts";
import { createNameSums } from "./name-sums.ts";
import type { InsightsView } from "./view.ts";
import { readWeeks } from "./weeks.ts";

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
const weekMs = 7 * 24 * 60 * 60_000;

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
      const sums = emptyServerSums();
      totalOfBucket(bucket).addTo(sums);
      hours.add(bucket.startMs, sums.ms);
      names.add(target, bucket);
    }
  }

  const extents = await sources.occupancy.extents();
  const targets = selectTargets(await sources.targets(), extents, { range, filter, nowMs });
  const erred = await readErrantServers({ range, targets, filter, extents, sources });

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
    occupied_long: (await readLongStays(sources, filter, names.usualMaximumOf())).map(viewStay),
    forecast: viewForecast(
      forecast(await readWeeks(sources.occupancy, nowMs, filter), threshold),
      threshold,
      nowMs,
    ),
  };
}

async function readLongStays(
  sources: ReportSources,
  { region, key }: { readonly region?: readonly string[]; readonly key?: readonly string[] },
  usualMaximumOf: (serverName: string) => number | null,
): Promise<readonly LongStay[]> {
  let longest: readonly LongStay[] = [];
  const watched = (await sources.targets()).filter(
    ({ target, isConfigured }) =>
      isConfigured &&
      (region?.includes(target.region) ?? true) &&
      (key?.includes(target.key) ?? true),
  );
  const byName = new Map(watched.map(({ target }) => [targetName(target), target]));
  for (const target of byName.values()) {
    const { lastPollAtMs, servers } = await sources.present(target);
    if (lastPollAtMs === null) continue;
    const stays = longStaysOf(target, servers, lastPollAtMs, usualMaximumOf);
    longest = longestOf([...longest, ...stays], mostTold);
  }
  return longest;
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
  const dayMs = weekMs / 7;
  const atMs = Math.floor(nowMs / dayMs) * dayMs + told.inWeeks * weekMs;
  return {
    threshold,
    passes_at: timeText(atMs),
    rise_per_week: told.risePerWeek,
    reason: null,
  };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

function toSeconds(ms: number): number {
  return Math.round(ms) / 1_000;
}
