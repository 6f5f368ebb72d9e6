import { bucketStart, type Bucket } from "../fleet/buckets.ts";
import { addDwells, countDwells, dwellQuantileMs, noDwells } from "../fleet/dwell.ts";
import type { DwellHistogram } from "../fleet/dwell.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { OccupancyReader, TargetBucket } from "../store/occupancy-history.ts";
import type { Unit } from "../store/unit-history.ts";
import { readBusiestHour } from "./busiest-hour.ts";
import { readOutlooks, type OutlookQuery } from "./outlooks.ts";
import { countedFor } from "./report-fields.ts";
import { keptRange } from "./server-report.ts";
import type { PresentServer, ReportSources } from "./report-sources.ts";
import { selectTargets, type ReportedTarget } from "./reported-targets.ts";
import type { Zone } from "./zone.ts";

export interface InsightsQuery extends OutlookQuery {
  readonly zone: Zone;
}

export type Insights = Awaited<ReturnType<typeof readInsights>>;

/** Of each kind. */
const mostShown = 10;

export async function readInsights(query: InsightsQuery, sources: ReportSources) {
  const { of, range, filter, nowMs } = query;
  const occupancy = await sources.occupancy.open(filter);
  const { recorded } = occupancy;
  const names = new Map<string, NameSum>();
  const onHours = (some: readonly TargetBucket[]): void => {
    for (const { target, bucket } of some) addNames(names, target, bucket);
  };
  const byName = of === "servers" ? "server_name" : "sandbox_benchmark";
  const isByName = countedFor(of, query.pools) === byName;
  const outlooks = await readOutlooks(query, occupancy, isByName ? onHours : undefined);
  if (!isByName) {
    const hours = { resolution: "1h", ...range, fromMs: bucketStart("1h", range.fromMs) } as const;
    for await (const some of occupancy.buckets(hours, byName)) onHours(some);
  }

  const watched = await sources.targets();
  const configured = new Set(
    watched.filter(({ isConfigured }) => isConfigured).map(({ target }) => targetName(target)),
  );
  const usualOf = usualMaxima(names.values());
  const inErrorNow = new Set<string>();
  const targets = selectTargets(watched, recorded, { range, filter, nowMs });
  let occupiedLong: readonly LongDwell[] = [];
  for (const { target } of targets) {
    const { lastPollAtMs, servers } = await sources.present(target);
    // For a target that is not configured, it is unknown how long a server remained occupied.
    const atMs = configured.has(targetName(target)) ? lastPollAtMs : null;
    const long: LongDwell[] = [];
    for (const present of servers) {
      const { sandbox, server } = present;
      if (server.status === "error") {
        inErrorNow.add(serverKey(target, { sandboxId: sandbox.id, serverId: server.id }));
      }
      const dwell = atMs === null ? null : longDwellOf(target, present, atMs, usualOf);
      if (dwell) long.push(dwell);
    }
    occupiedLong = largest([...occupiedLong, ...long], (dwell) => dwell.occupiedMs / dwell.usualMs);
  }
  const errant = await readErrant(query, targets, inErrorNow, occupancy, sources);
  return {
    busiestHour: await readBusiestHour(occupancy, query),
    erredMostOften: largest(errant, ({ errors }) => errors),
    erredLongest: largest(errant, ({ errorMs }) => errorMs),
    ranOut: largest([...names.values()], ({ exhaustedMs }) => exhaustedMs),
    occupiedLong,
    outlooks,
  };
}

/** Those above 0, as many as are shown. */
function largest<Item>(items: readonly Item[], valueOf: (item: Item) => number): readonly Item[] {
  return items
    .filter((item) => valueOf(item) > 0)
    .toSorted((one, other) => valueOf(other) - valueOf(one))
    .slice(0, mostShown);
}

/** The servers that were in error, with the time that a report by server has of them. Only those are read. */
async function readErrant(
  { range: asked, filter, nowMs }: Pick<InsightsQuery, "range" | "filter" | "nowMs">,
  targets: readonly ReportedTarget[],
  inErrorNow: ReadonlySet<string>,
  occupancy: OccupancyReader,
  { changes }: ReportSources,
) {
  const range = keptRange(asked, occupancy);
  const wanted = new Set(inErrorNow);
  // One that was in error all the time shows it when it leaves it, or still is.
  const since = { fromMs: range.fromMs, toMs: nowMs + 1, direction: "asc" } as const;
  for await (const { target, ...server } of changes.between({
    ...since,
    ...filter,
    status: ["error"],
  })) {
    wanted.add(serverKey(target, server));
  }
  const errant: (Target & ErrantServer)[] = [];
  for (const { target, untilMs } of targets) {
    const keyOf = (unit: Unit): string => serverKey(target, unit);
    const cells = occupancy.units(target, {
      subject: "server",
      ...range,
      untilMs: Math.min(range.toMs, untilMs),
      first: "",
      isWanted: (unit) => wanted.has(keyOf(unit)),
      keyOf,
    });
    for await (const { units, bucket, errors } of cells) {
      for (const unit of units) {
        const { sandboxId, serverId, serverName } = unit;
        const server = { ...target, sandboxId, serverId: serverId ?? "", serverName };
        const errorMs = bucket.names.get(keyOf(unit))?.ms.error ?? 0;
        errant.push({ ...server, errors: errors.get(keyOf(unit)) ?? 0, errorMs });
      }
    }
  }
  return errant;
}

interface ErrantServer extends Unit {
  readonly serverId: string;
  readonly errors: number;
  readonly errorMs: number;
}

function serverKey(
  target: Target,
  { sandboxId, serverId }: Pick<Unit, "sandboxId" | "serverId">,
): string {
  return JSON.stringify([targetName(target), sandboxId, serverId]);
}

/** What is added up of the servers of one name of a target. */
interface NameSum extends Target {
  readonly serverName: string;
  /** For how long it was observed and no server of the name was idle. */
  exhaustedMs: number;
  /** In how many hours of the calendar that happened. */
  hours: number;
  dwells: DwellHistogram;
}

/** @param bucket of an hour */
function addNames(sums: Map<string, NameSum>, target: Target, { names }: Bucket): void {
  for (const [serverName, { exhaustedMs, dwells }] of names) {
    if (exhaustedMs === 0 && dwells === noDwells) continue;
    const key = JSON.stringify([target.region, target.key, serverName]);
    const nothing = { exhaustedMs: 0, hours: 0, dwells: noDwells };
    const sum = sums.get(key) ?? { ...target, serverName, ...nothing };
    sum.exhaustedMs += exhaustedMs;
    sum.hours += exhaustedMs > 0 ? 1 : 0;
    sum.dwells = addDwells(sum.dwells, dwells);
    sums.set(key, sum);
  }
}

/** Below this number of dwell times, no usual maximum is computed. */
const fewestDwells = 20;

/** The 95th percentile of the dwell times of a server name in all targets. Null: too few are known. */
function usualMaxima(sums: Iterable<NameSum>): (serverName: string) => number | null {
  const byName = new Map<string, DwellHistogram>();
  for (const { serverName, dwells } of sums) {
    byName.set(serverName, addDwells(byName.get(serverName) ?? noDwells, dwells));
  }
  return (serverName) => {
    const dwells = byName.get(serverName) ?? noDwells;
    return countDwells(dwells) < fewestDwells ? null : dwellQuantileMs(dwells, 0.95);
  };
}

type LongDwell = NonNullable<ReturnType<typeof longDwellOf>>;

/**
 * A server that has been occupied for longer than servers of its name usually are. Null: it has not.
 *
 * @param atMs when the server was last observed. UTC milliseconds
 */
function longDwellOf(
  { region, key }: Target,
  { sandbox, server }: PresentServer,
  atMs: number,
  usualOf: (serverName: string) => number | null,
) {
  const { id: serverId, name, status, since, missing } = server;
  if (status !== "occupied" || missing > 0) return null;
  const serverName = name ?? "";
  const usualMs = usualOf(serverName);
  const occupiedMs = atMs - since.atMs;
  if (usualMs === null || occupiedMs <= usualMs) return null;
  const labels = { region, key, sandboxId: sandbox.id, serverId, serverName };
  // Where the beginning was not observed it has been occupied for at least that long.
  return { ...labels, occupiedMs, isExact: since.momentKnown, usualMs };
}
