import type { Target } from "../fleet/model.ts";
import { shownName } from "../fleet/text.ts";
import { RefusedError } from "../lib/refused-error.ts";
import type { OccupancyReader, TargetFilter } from "../store/occupancy-history.ts";
import { compareUrgency, outlookOf } from "./outlook.ts";
import { readPoolSeries, type PoolQuery } from "./outlook-series.ts";
import { overallAnswer } from "./outlook-text.ts";
import { UsageSums } from "./pool-usage.ts";
import { countedFor, labelValuesOf, valueFieldOf } from "./report-fields.ts";
import type { PoolField, ReportedKind } from "./report-fields.ts";
import { compareValues, type GroupValues } from "./report-rows.ts";
import type { TimeRange } from "./time-range.ts";
import type { LabelsOf } from "./report-sources.ts";

export interface OutlookQuery {
  readonly of: ReportedKind;
  /** Of what is said of the use of pools. Forecasts are always of the last weeks. */
  readonly range: TimeRange;
  readonly filter: TargetFilter;
  readonly nowMs: number;
  /** The occupied share that is forecast of averages. */
  readonly threshold: number;
  /** By what servers or sandboxes are pooled. */
  readonly pools: readonly PoolField[];
}

export type Outlooks = Awaited<ReturnType<typeof readOutlooks>>;

/** More would not fit into memory, and nobody reads them. */
const mostPools = 10_000;

/**
 * When servers or sandboxes run out of idle ones, as a whole and by pool.
 *
 * @throws {RefusedError} when there are too many pools
 */
export async function readOutlooks(
  { of, range, nowMs, threshold, pools: fields }: OutlookQuery,
  occupancy: OccupancyReader,
  labelsOf: LabelsOf,
  onHours?: PoolQuery["onHours"],
) {
  const valueField = valueFieldOf(fields);
  const groups = new Map<string, GroupValues>();
  const known = new Map<Target, Map<string, string>>();
  const poolOf = (target: Target, value: string): string => {
    const ofTarget = known.get(target) ?? new Map<string, string>();
    known.set(target, ofTarget);
    const found = ofTarget.get(value);
    if (found !== undefined) return found;
    const labels = labelValuesOf(fields, labelsOf(target.key));
    const all: GroupValues = { ...target, ...(valueField && { [valueField]: value }), ...labels };
    const pool = Object.fromEntries(fields.map((field) => [field, all[field]]));
    const group = JSON.stringify(pool);
    groups.set(group, pool);
    if (groups.size > mostPools) throw tooManyPools(fields);
    ofTarget.set(value, group);
    return group;
  };
  const whole = { range, nowMs, counted: countedFor(of, []), poolOf: () => "" };
  const [all] = (await readPoolSeries(occupancy, whole)).values();
  const counted = countedFor(of, fields);
  const series = await readPoolSeries(occupancy, { range, nowMs, counted, poolOf, onHours });
  const none = { weeks: [], lastNoIdleMs: 0, usage: new UsageSums().result(), isExact: true };
  const pools = Array.from(groups, ([group, pool]) => {
    const found = series.get(group);
    return found ? [{ pool, name: nameOf(pool), outlook: outlookOf(found, threshold) }] : [];
  })
    .flat()
    .toSorted(
      (one, other) =>
        compareUrgency(one.outlook, other.outlook) || compareValues(one.pool, other.pool, fields),
    );
  // The most urgent pool comes first.
  return { answer: overallAnswer(pools, of), all: outlookOf(all ?? none, threshold), pools };
}

function tooManyPools(fields: readonly PoolField[]): RefusedError {
  const allowed = `fields with at most ${mostPools} pools, or fewer regions and keys`;
  const text = `There are more than ${mostPools} pools by ${fields.join(", ")}: ask by fewer fields, or of fewer regions and keys.`;
  return new RefusedError("invalid", text, [{ path: "by", allowed }]);
}

/** Names come from the service. */
export function nameOf(pool: GroupValues): string {
  const { region, key, server_name: name, benchmark, tag, ...labels } = pool;
  const target = [region, key, ...Object.values(labels)]
    .filter((part) => part !== undefined)
    .join("/");
  const value = name ?? benchmark ?? tag;
  if (value === undefined) return target === "" ? "the fleet" : target;
  const field = name === undefined ? (benchmark === undefined ? "tag" : "benchmark") : "name";
  const shown = value === "" ? `the pool without a ${field}` : shownName(value);
  return target === "" ? shown : `${shown} in ${target}`;
}
