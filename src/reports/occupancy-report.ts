import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import {
  addBucketToCell,
  addIncident,
  addMissing,
  bookMissing,
  emptyCell,
  hasMissing,
  rowsOfCell,
} from "./cell-sums.ts";
import type { CellSums } from "./cell-sums.ts";
import { weekdays } from "./cells.ts";
import type { Cell } from "./cells.ts";
import { estimateServers } from "./estimates.ts";
import type { AverageServers } from "./estimates.ts";
import { isTimeField } from "./fields.ts";
import type { ReportField } from "./fields.ts";
import { createGroups } from "./groups.ts";
import type { Groups } from "./groups.ts";
import type { IncidentTime } from "./incident-times.ts";
import type { Plan, Stretch } from "./plan.ts";
import { readCells } from "./read-cells.ts";
import { placeRows } from "./row.ts";
import type { PlacedRow, ReportRow, RowPlace } from "./row.ts";
import type { TargetBucket } from "./sources.ts";
import { numberTargets } from "./targets.ts";
import type { ReportedTarget } from "./targets.ts";

export interface OccupancyReport {
  readonly plan: Plan;
  /** What gives the sums of the whole range the fastest. */
  readonly wholeRange: readonly Stretch[];
  readonly fields: readonly ReportField[];
  readonly targets: readonly ReportedTarget[];
  /** In order of time. */
  readonly incidents: readonly IncidentTime[];
  readonly read: (stretch: Stretch) => AsyncIterable<readonly TargetBucket[]>;
}

/**
 * Rows made of buckets, in the order of time and within it of the groups. Of hours and days only one
 * is held at a time.
 *
 * @param after the place of the last row that is not wanted; null: all are
 */
export async function* reportOccupancy(
  report: OccupancyReport,
  after: RowPlace | null,
): AsyncIterable<PlacedRow> {
  const { plan, fields, targets } = report;
  const groups = createGroups(
    targets.map(({ target }) => target),
    fields,
  );
  const rowsOf = createRowMaker(report, groups);
  // Mondays come again: what is by them is complete at the end only.
  if (fields.filter(isTimeField).join() === "weekday") {
    const byDay = new Map<string, CellSums>();
    const sumsOf = (cell: Cell): CellSums => {
      const day = cell.labels.weekday ?? "";
      const known = byDay.get(day) ?? emptyCell(cell, targets.length);
      byDay.set(day, known);
      return known;
    };
    for await (const _ of addUpCells(report, { groups, sinceMs: plan.range.fromMs, sumsOf }));
    const rows: ReportRow[] = [];
    for (const day of weekdays) {
      const sums = byDay.get(day);
      if (sums) rows.push(...(await rowsOf(sums)));
    }
    yield* placeRows(rows, plan.range.fromMs, after);
    return;
  }
  const sinceMs = after?.cellMs ?? plan.range.fromMs;
  let current: CellSums | null = null;
  const sumsOf = (cell: Cell): CellSums => {
    if (current?.cell !== cell) current = emptyCell(cell, targets.length);
    return current;
  };
  for await (const sums of addUpCells(report, { groups, sinceMs, sumsOf })) {
    yield* placeRows(await rowsOf(sums), sums.cell.fromMs, after);
  }
}

function createRowMaker(report: OccupancyReport, groups: Groups) {
  let average: AverageServers | null = null;
  return async (sums: CellSums): Promise<readonly ReportRow[]> => {
    if (hasMissing(sums)) {
      average ??= await estimateServers(groups, report);
      bookMissing(sums, groups, average);
    }
    return [...rowsOfCell(sums, groups)];
  };
}

interface AddingUp {
  readonly groups: Groups;
  /** The beginning of the first cell that is wanted. */
  readonly sinceMs: number;
  readonly sumsOf: (cell: Cell) => CellSums;
}

/** Gives what a cell adds up to when it is over. */
async function* addUpCells(
  { plan, targets, incidents, read }: OccupancyReport,
  { groups, sinceMs, sumsOf }: AddingUp,
): AsyncIterable<CellSums> {
  const numberOf = numbersOf(targets);
  const recordedMs = new Float64Array(targets.length);
  const waiting = incidents.filter(({ atMs }) => atMs >= sinceMs).values();
  let incident = waiting.next();
  for await (const steps of readCells(plan, sinceMs, read)) {
    for (const step of steps) {
      const sums = sumsOf(step.cell);
      if (step.kind === "bucket") {
        const number = numberOf(step.found.target);
        if (number === undefined) continue;
        recordedMs[number] = (recordedMs[number] ?? 0) + step.found.bucket.recordedMs;
        addBucketToCell(sums, groups, number, step.found.bucket);
        continue;
      }
      for (const [number, { untilMs }] of targets.entries()) {
        const passedMs = Math.min(step.cell.toMs, untilMs) - step.cell.fromMs;
        addMissing(sums, number, Math.max(0, passedMs - (recordedMs[number] ?? 0)));
      }
      recordedMs.fill(0);
      for (; !incident.done && incident.value.atMs < step.cell.toMs; incident = waiting.next()) {
        addIncident(sums, groups, incident.value);
      }
      yield sums;
    }
  }
}

/** Of each target as it is told of, only once by its name: there are many buckets of each. */
function numbersOf(targets: readonly ReportedTarget[]): (target: Target) => number | undefined {
  const byName = numberTargets(targets);
  const known = new Map<Target, number | undefined>();
  return (target) => {
    if (!known.has(target)) known.set(target, byName.get(targetName(target)));
    return known.get(target);
  };
}
