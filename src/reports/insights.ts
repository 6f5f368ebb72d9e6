import { bucketStart, type Bucket, type Counted } from "../fleet/buckets.ts";
import { addDwells, countDwells, dwellQuantile, noDwells } from "../fleet/dwell.ts";
import type { DwellHistogram, DwellQuantile } from "../fleet/dwell.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { OccupancyReader, TargetBucket } from "../store/occupancy-history.ts";
import type { Unit } from "../store/unit-history.ts";
import { readBusiestHour } from "./busiest-hour.ts";
import { readOutlooks, type OutlookQuery } from "./outlooks.ts";
import { countedFor } from "./report-fields.ts";
import { keptRange } from "./server-report.ts";
import type { PresentUnit, ReportSources, UnitIds } from "./report-sources.ts";
import { selectTargets, type ReportedTarget } from "./reported-targets.ts";
import type { Zone } from "./zone.ts";

interface InsightsQuery extends OutlookQuery {
  readonly zone: Zone;
}

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
  const outlooks = await readOutlooks(
    query,
    occupancy,
    sources.labelsOf,
    isByName ? onHours : undefined,
  );
  const wholeHours = { ...range, fromMs: bucketStart("1h", range.fromMs) };
  if (!isByName) {
    const hours = { resolution: "1h", ...wholeHours } as const;
    for await (const some of occupancy.buckets(hours, byName)) onHours(some);
  }

  const watched = await sources.targets();
  const configured = new Set(
    watched.filter(({ isConfigured }) => isConfigured).map(({ target }) => targetName(target)),
  );
  const usualOf = usualMaxima(names.values(), await readDwells(occupancy, wholeHours, byName));
  const inErrorNow = new Set<string>();
  const targets = selectTargets(watched, recorded, { range, filter, nowMs });
  let occupiedLong: readonly LongDwell[] = [];
  for (const { target } of targets) {
    const { lastPollAtMs, units } = await sources.present(target, of);
    // For a target that is not configured, it is unknown how long one remained occupied.
    const atMs = configured.has(targetName(target)) ? lastPollAtMs : null;
    const long: LongDwell[] = [];
    for (const unit of units) {
      if (unit.status === "error") inErrorNow.add(unitKey(target, unit));
      const dwell = atMs === null ? null : longDwellOf(target, unit, atMs, usualOf);
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

/** Those that were in error, with the time that a report by server or sandbox has of them. Only those are read. */
async function readErrant(
  { of, range: asked, filter, nowMs }: InsightsQuery,
  targets: readonly ReportedTarget[],
  inErrorNow: ReadonlySet<string>,
  occupancy: OccupancyReader,
  { changes }: ReportSources,
) {
  const range = keptRange(asked, occupancy);
  const subject = of === "servers" ? "server" : "sandbox";
  const wanted = new Set(inErrorNow);
  // One that was in error all the time shows it when it leaves it, or still is.
  const since = { fromMs: range.fromMs, toMs: nowMs + 1, direction: "asc" } as const;
  const inError = { ...since, ...filter, subject: [subject], status: ["error"] } as const;
  for await (const { target, ...unit } of changes.ofSubjects(inError)) {
    wanted.add(unitKey(target, unit));
  }
  const errant: (Target & ErrantUnit)[] = [];
  for (const { target, untilMs } of targets) {
    const keyOf = (unit: Unit): string => unitKey(target, unit);
    const cells = occupancy.units(target, {
      subject,
      ...range,
      untilMs: Math.min(range.toMs, untilMs),
      first: "",
      isWanted: (unit) => wanted.has(keyOf(unit)),
      keyOf,
    });
    for await (const { units, bucket, errors } of cells) {
      for (const unit of units) {
        const { sandboxId, serverId, serverName } = unit;
        const errorMs = bucket.names.get(keyOf(unit))?.ms.error ?? 0;
        const labels = { ...target, sandboxId, serverId, serverName };
        errant.push({ ...labels, errors: errors.get(keyOf(unit)) ?? 0, errorMs });
      }
    }
  }
  return errant;
}

interface ErrantUnit extends Unit {
  readonly errors: number;
  readonly errorMs: number;
}

function unitKey(target: Target, { sandboxId, serverId }: UnitIds): string {
  return JSON.stringify([targetName(target), sandboxId, serverId]);
}

/** What is added up of the servers of one name of a target, or of the sandboxes of one benchmark. */
interface NameSum extends Target {
  /** The name or benchmark. */
  readonly value: string;
  /** For how long it was observed and none of them was idle. */
  exhaustedMs: number;
  /** In how many hours of the calendar that happened. */
  hours: number;
  dwells: DwellHistogram;
}

/** @param bucket of an hour */
function addNames(sums: Map<string, NameSum>, target: Target, { names }: Bucket): void {
  for (const [value, { exhaustedMs, dwells }] of names) {
    if (exhaustedMs === 0 && dwells === noDwells) continue;
    const key = JSON.stringify([target.region, target.key, value]);
    const nothing = { exhaustedMs: 0, hours: 0, dwells: noDwells };
    const sum = sums.get(key) ?? { ...target, value, ...nothing };
    sum.exhaustedMs += exhaustedMs;
    sum.hours += exhaustedMs > 0 ? 1 : 0;
    sum.dwells = addDwells(sum.dwells, dwells);
    sums.set(key, sum);
  }
}

/** Below this number of dwell times, no usual maximum is computed. */
const fewestDwells = 20;

type UsualOf = (value: string) => DwellQuantile | null;

/** The 95th percentile of the dwell times of a name or benchmark in all targets. Null: too few are known. */
function usualMaxima(
  sums: Iterable<NameSum>,
  dwellsMs: ReadonlyMap<string, readonly number[]>,
): UsualOf {
  const byValue = new Map<string, DwellHistogram>();
  for (const { value, dwells } of sums) {
    byValue.set(value, addDwells(byValue.get(value) ?? noDwells, dwells));
  }
  return (value) => {
    const dwells = byValue.get(value) ?? noDwells;
    if (countDwells(dwells) < fewestDwells) return null;
    return dwellQuantile(dwells, 0.95, dwellsMs.get(value));
  };
}

/** Each dwell time, by name, the shortest first. */
async function readDwells(
  occupancy: OccupancyReader,
  range: Parameters<OccupancyReader["dwells"]>[0],
  counted: Counted,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const byName = new Map<string, number[]>();
  for await (const some of occupancy.dwells(range, counted)) {
    for (const { value, dwellMs } of some) {
      const known = byName.get(value);
      if (known) known.push(dwellMs);
      else byName.set(value, [dwellMs]);
    }
  }
  for (const dwellsMs of byName.values()) dwellsMs.sort((one, other) => one - other);
  return byName;
}

type LongDwell = NonNullable<ReturnType<typeof longDwellOf>>;

/**
 * One that has been occupied for longer than those of its name or benchmark usually are. Null: it has not.
 *
 * @param atMs when it was last observed. UTC milliseconds
 */
function longDwellOf(
  { region, key }: Target,
  { sandboxId, serverId, serverName, value, status, since, missing }: PresentUnit,
  atMs: number,
  usualOf: UsualOf,
) {
  if (status !== "occupied" || missing > 0) return null;
  const usual = usualOf(value);
  const occupiedMs = atMs - since.atMs;
  if (usual === null || occupiedMs <= usual.ms) return null;
  const labels = { region, key, sandboxId, serverId, serverName };
  // Where the beginning was not observed it has been occupied for at least that long.
  const bounds = { usualMs: usual.ms, usualLeastMs: usual.leastMs, usualMostMs: usual.mostMs };
  return { ...labels, occupiedMs, isExact: since.momentKnown, ...bounds };
}
