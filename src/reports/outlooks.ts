import type { Target } from "../fleet/model.ts";
import { shownName } from "../fleet/readable-text.ts";
import type { TargetFilter } from "../store/occupancy-history.ts";
import { compareUrgency, outlookOf, type Outlook } from "./outlook.ts";
import { readPoolSeries } from "./outlook-series.ts";
import { overallAnswer } from "./outlook-text.ts";
import { UsageSums } from "./pool-usage.ts";
import type { PoolField } from "./report-fields.ts";
import { compareValues, type GroupValues } from "./report-rows.ts";
import type { ReportSources } from "./report-sources.ts";
import type { TimeRange } from "./time-range.ts";

export interface OutlookQuery {
  /** Of what is said of the use of pools. Forecasts are always of the last weeks. */
  readonly range: TimeRange;
  readonly filter: TargetFilter;
  readonly nowMs: number;
  /** The occupied share that is forecast of averages. */
  readonly threshold: number;
  /** By what servers are pooled. */
  readonly pools: readonly PoolField[];
}

export interface PoolOutlook {
  readonly pool: GroupValues;
  /** Such as `git in us/research`. */
  readonly name: string;
  readonly outlook: Outlook;
}

export interface Outlooks {
  /** When the first pool runs out, in a sentence. */
  readonly answer: string;
  /** Of all servers together. */
  readonly all: Outlook;
  /** The most urgent one first. */
  readonly pools: readonly PoolOutlook[];
}

/** When servers run out of idle ones, as a whole and by pool. */
export async function readOutlooks(
  { range, filter, nowMs, threshold, pools: fields }: OutlookQuery,
  sources: Pick<ReportSources, "occupancy">,
): Promise<Outlooks> {
  const groups = new Map<string, GroupValues>();
  const occupancy = await sources.occupancy.open(filter);
  const known = new Map<Target, Map<string, readonly string[]>>();
  const poolsOf = (target: Target, server_name: string): readonly string[] => {
    const ofTarget = known.get(target) ?? new Map<string, readonly string[]>();
    known.set(target, ofTarget);
    const found = ofTarget.get(server_name);
    if (found) return found;
    const of = { ...target, server_name };
    const values = Object.fromEntries(fields.map((field) => [field, of[field]]));
    const group = JSON.stringify(values);
    groups.set(group, values);
    const pools = [everything, group];
    ofTarget.set(server_name, pools);
    return pools;
  };
  const series = await readPoolSeries(occupancy, range, nowMs, poolsOf);
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
  return {
    answer: overallAnswer(pools),
    all: outlookOf(series.get(everything) ?? none, threshold),
    pools,
  };
}

/** No pool has it: theirs are JSON. */
const everything = "";

/** Names come from the service. */
export function nameOf({ region, key, server_name: name }: GroupValues): string {
  const target = [region, key].filter((part) => part !== undefined).join("/");
  if (name === undefined) return target === "" ? "all servers" : target;
  const shown = name === "" ? "servers without a name" : shownName(name);
  return target === "" ? shown : `${shown} in ${target}`;
}
