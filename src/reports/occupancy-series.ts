import { resolutionMs, resolutions, type Resolution } from "../fleet/buckets.ts";
import { byStatus, noneByStatus, type CountByStatus } from "../fleet/tallies.ts";
import { sumsOfCells, type CellSums } from "./occupancy-report.ts";
import { openOccupancy, type ReportQuery } from "./open-report.ts";
import type { KeptFrom } from "../store/occupancy-history.ts";
import type { ReportSources } from "./report-sources.ts";
import { mostBetweenPollsMs } from "./reported-targets.ts";
import { countedFor } from "./report-fields.ts";
import { createRowGroups } from "./row-groups.ts";
import type { TimeRange } from "./time-range.ts";

interface SeriesQuery extends Omit<ReportQuery, "fields" | "after"> {
  /** The names of the servers. Empty: all. */
  readonly names: readonly string[];
  /** The length of a cell, a whole number of five minutes. Null: it is chosen. */
  readonly stepMs: number | null;
}

/** A stretch of time. The first and the last one are clipped to the range, and so may be shorter. */
interface SeriesCell extends TimeRange {
  /** On average over the whole cell: how many servers were in each status, and how many were unobserved. */
  readonly average: CountByStatus;
  readonly unobserved: number;
}

/** As many as a chart can show, and the fewest that show a course. */
const mostCells = 400;
const fewestCells = 60;
/** Of a large fleet finer buckets take too long to read, and fewer cells must do. */
const mostBuckets = 200_000;
const fewestCellsOfMany = 12;

/**
 * How many servers there were, cell by cell, in a range that is rounded outwards to the buckets that are kept.
 *
 * @throws {RefusedError} when the range has not begun
 */
export async function readSeries(query: SeriesQuery, sources: ReportSources) {
  const { asked, keptFrom, selectIn, reportOf, notesOn } = await openOccupancy(query, sources);
  const stepMs = query.stepMs ?? chooseStep(asked, keptFrom, selectIn(asked).length);
  const { names, of } = query;
  const report =
    names.length > 0
      ? reportOf(asked, ["server_name"], "server_name", stepMs)
      : reportOf(asked, [], countedFor(of, []), stepMs);
  const { plan, targets } = report;
  // What came after the last poll of a target is not recorded yet.
  const recentMs = query.nowMs - mostBetweenPollsMs;
  const untilMs = targets
    .filter((target) => target.untilMs >= recentMs)
    .reduce((ms, target) => Math.min(ms, target.untilMs), query.nowMs);
  const range = { fromMs: plan.range.fromMs, toMs: Math.min(plan.range.toMs, untilMs) };
  const cells: SeriesCell[] = [];
  const groups = createRowGroups(targets, report.fields, report.labelsOf);
  for await (const sums of sumsOfCells(report, groups, range.fromMs)) {
    const { fromMs, toMs } = sums.cell;
    if (fromMs >= range.toMs) break;
    cells.push({ fromMs, toMs: Math.min(toMs, range.toMs), ...averageOf(sums, names) });
  }
  return { range, stepMs, cells, notes: notesOn(targets, plan.notes) };
}

/** A few of the coarsest buckets that show a course, are kept from the beginning, and are read the fastest. */
function chooseStep({ fromMs, toMs }: TimeRange, keptFrom: KeptFrom, targets: number): number {
  const lengthMs = toMs - fromMs;
  const cellsOf = (each: Resolution): number => lengthMs / resolutionMs[each];
  // Quarters of an hour are stored for some time zones only, so no step is chosen because of them.
  const kept = resolutions.filter((each) => each !== "15m" && keptFrom[each] <= fromMs);
  const showsCourse = (fewest: number) => kept.findLast((each) => cellsOf(each) >= fewest);
  const fine = showsCourse(fewestCells) ?? kept[0] ?? "5m";
  const isMuch = targets * cellsOf(fine) > mostBuckets;
  const resolution = (isMuch ? showsCourse(fewestCellsOfMany) : null) ?? fine;
  const least = cellsOf(resolution) / mostCells;
  const times = [1, 2, 3, 4, 6, 12].find((each) => each >= least) ?? Math.ceil(least);
  return times * resolutionMs[resolution];
}

/** Targets were last polled at different moments, so each counts over the time for which it is reported. */
function averageOf(
  { rows, reportedMs }: CellSums,
  names: readonly string[],
): Pick<SeriesCell, "average" | "unobserved"> {
  let average = noneByStatus;
  let unobserved = 0;
  const wanted = rows
    .entries()
    .filter(([{ values }]) => names.length === 0 || names.includes(values.server_name ?? ""));
  for (const [target, account] of wanted.flatMap(([, { accounts }]) => accounts)) {
    const ofMs = reportedMs[target] ?? 0;
    if (ofMs === 0) continue;
    const sums = average;
    average = byStatus((status) => sums[status] + account.ms[status] / ofMs);
    unobserved += account.unobservedMs / ofMs;
  }
  return { average, unobserved };
}
