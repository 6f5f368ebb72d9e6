import { addAccount, emptyAccount, serverMsOf } from "../fleet/buckets.ts";
import type { Bucket, NameAccount } from "../fleet/buckets.ts";
import { countByStatus, type CountByStatus } from "../fleet/tallies.ts";
import { targetName } from "../fleet/model.ts";
import { batches, paced } from "../lib/iterables.ts";
import type { PeakQuery } from "../store/fold-changes.ts";
import type { BucketRange, EndedDwell, TargetBucket } from "../store/occupancy-history.ts";
import type { TimeRange } from "./time-range.ts";
import { compareLabels, type Cell } from "./calendar-cells.ts";
import { isTimeField, type ReportField } from "./report-fields.ts";
import { createRowGroups, type Group, type Groups, type Leaf } from "./row-groups.ts";
import {
  countIncident,
  noIncidents,
  type IncidentCounts,
  type IncidentTime,
} from "./incident-times.ts";
import type { Plan } from "./bucket-plan.ts";
import { PeakSum } from "./peak-sum.ts";
import { placeRows, type PlacedRow, type ReportRow, type RowPosition } from "./report-rows.ts";
import type { ReportedTarget } from "./reported-targets.ts";
import type { LabelsOf } from "./report-sources.ts";

export interface OccupancyReport {
  readonly plan: Plan;
  /** The coarsest ranges, which give the sums of the whole range the fastest. */
  readonly wholeRange: readonly BucketRange[];
  readonly fields: readonly ReportField[];
  readonly targets: readonly ReportedTarget[];
  readonly labelsOf: LabelsOf;
  /** The places of the targets among them, by their names. */
  readonly numbers: ReadonlyMap<string, number>;
  /** In order of time. */
  readonly incidents: readonly IncidentTime[];
  readonly read: (bucketRange: BucketRange) => AsyncIterable<readonly TargetBucket[]>;
  /** Dwell times that ended in a range, in order of time. Default: they are not known. */
  readonly readDwells?: (range: TimeRange) => AsyncIterable<readonly EndedDwell[]>;
  /** The most servers occupied at one moment in the whole range, by groups. Null: what they are computed from is not kept. */
  readonly occupiedPeaks: (groupOf: PeakQuery["groupOf"]) => Promise<GroupPeaks | null>;
}

/** By the key of the group. */
type GroupPeaks = ReadonlyMap<string, number>;

/** The sums for the rows of one cell, or of all cells with the same label. */
export interface CellSums {
  readonly cell: Cell;
  readonly rows: Map<Group, RowSums>;
  /** By number of target: for how long it is reported, it was observed, and nothing is known of it. */
  readonly reportedMs: Float64Array;
  readonly observedMs: Float64Array;
  readonly missingMs: Float64Array;
}

interface RowSums extends IncidentCounts {
  readonly dwellsMs: number[];
  /** Of its servers, by number of target. */
  readonly accounts: Map<number, NameAccount>;
  readonly peak: PeakSum;
  readonly serversPeak: PeakSum;
  /** The most occupied servers of a single target, or of a name of it. */
  highest: number;
}

/** Empty cells that are passed before the event loop turns. */
const cellsAtOnce = 500;

/**
 * Rows made of buckets, in the order of time and within it of the groups. Of hours and days only one
 * is held at a time.
 *
 * @param after the position of the last row that is not wanted; null: all are
 */
export async function* reportOccupancy(
  report: OccupancyReport,
  after: RowPosition | null,
): AsyncIterable<PlacedRow> {
  const { plan, fields, targets } = report;
  const groups = createRowGroups(targets, fields, report.labelsOf);
  const rowsOf = async (sums: CellSums): Promise<readonly ReportRow[]> =>
    rowsOfCell(sums, groups, await exactPeaks(report, sums, groups));
  if (!isRepeating(fields)) {
    for await (const sums of sumsOfCells(report, groups, after?.cellMs ?? plan.range.fromMs)) {
      yield* placeRows(await rowsOf(sums), sums.cell.fromMs, after);
    }
    return;
  }
  // Weekdays and hours of the day repeat, so their rows are complete only at the end.
  const byLabels = new Map<string, CellSums>();
  const addTime = unknownTime(report, groups);
  const sumsOf = (cell: Cell): CellSums => {
    const labels = JSON.stringify(cell.labels);
    const known = byLabels.get(labels) ?? emptyCell(cell, targets.length);
    byLabels.set(labels, known);
    return known;
  };
  for await (const _ of addUp(report, groups, plan.range.fromMs, sumsOf));
  const rows: ReportRow[] = [];
  const inOrder = [...byLabels.values()].toSorted((one, other) =>
    compareLabels(one.cell.labels, other.cell.labels),
  );
  for (const sums of inOrder) {
    await addTime(sums);
    rows.push(...(await rowsOf(sums)));
  }
  yield* placeRows(rows, plan.range.fromMs, after);
}

function isRepeating(fields: readonly ReportField[]): boolean {
  const repeats = fields.includes("weekday") || fields.includes("hour_of_day");
  return repeats && !fields.includes("hour") && !fields.includes("day");
}

/** The sums of each cell that ends after a moment, with time of which nothing is known. */
export async function* sumsOfCells(
  report: OccupancyReport,
  groups: Groups,
  sinceMs: number,
): AsyncIterable<CellSums> {
  const addTime = unknownTime(report, groups);
  const { length } = report.targets;
  for await (const sums of addUp(report, groups, sinceMs, (cell) => emptyCell(cell, length))) {
    await addTime(sums);
    yield sums;
  }
}

function emptyCell(cell: Cell, targets: number): CellSums {
  const noTimes = (): Float64Array => new Float64Array(targets);
  const times = { reportedMs: noTimes(), observedMs: noTimes(), missingMs: noTimes() };
  return { cell, rows: new Map(), ...times };
}

/** Adds unknown time as unobserved time, for the average number of servers. */
function unknownTime(report: OccupancyReport, groups: Groups) {
  let averages: ReadonlyMap<Leaf, number> | null = null;
  return async (sums: CellSums): Promise<void> => {
    if (sums.missingMs.every((ms) => ms === 0)) return;
    averages ??= await averageServers(report, groups);
    addMissing(sums, groups, averages);
  };
}

/**
 * Gives the sums of each cell when all of it was added to them. Each target is weighted by its observed time in the cell.
 *
 * @param sinceMs the beginning of the first cell that is wanted
 */
async function* addUp(
  { plan, targets, numbers, incidents, read, readDwells }: OccupancyReport,
  groups: Groups,
  sinceMs: number,
  sumsOf: (cell: Cell) => CellSums,
): AsyncIterable<CellSums> {
  const found = bucketsSince(plan.bucketRanges, sinceMs, read);
  let next = await found.next();
  const times = incidents.filter(({ atMs }) => atMs >= sinceMs).values();
  let incident = times.next();
  const ended = eachOf(
    readDwells?.({ ...plan.range, fromMs: Math.max(plan.range.fromMs, sinceMs) }) ?? [],
  );
  let dwell = await ended.next();
  for await (const cells of paced(batches(plan.cellsSince(sinceMs), cellsAtOnce))) {
    for (const cell of cells) {
      const sums = sumsOf(cell);
      const recordedMs = new Float64Array(targets.length);
      for (; !next.done && next.value.bucket.startMs < cell.toMs; next = await found.next()) {
        const number = numbers.get(targetName(next.value.target));
        if (number === undefined) continue;
        add(recordedMs, number, next.value.bucket.recordedMs);
        addBucket(sums, groups, number, next.value.bucket);
      }
      for (; !dwell.done && dwell.value.atMs < cell.toMs; dwell = await ended.next()) {
        const { target, value, dwellMs } = dwell.value;
        const number = numbers.get(targetName(target));
        if (number === undefined) continue;
        sumsOfGroup(sums, groups.leafOf(number, value).group).dwellsMs.push(dwellMs);
      }
      for (const [number, { untilMs }] of targets.entries()) {
        const passedMs = Math.max(0, Math.min(cell.toMs, untilMs) - cell.fromMs);
        add(sums.reportedMs, number, passedMs);
        add(sums.missingMs, number, Math.max(0, passedMs - (recordedMs[number] ?? 0)));
      }
      for (; !incident.done && incident.value.atMs < cell.toMs; incident = times.next()) {
        for (const group of groups.groupsOf(incident.value)) {
          countIncident(sumsOfGroup(sums, group), incident.value);
        }
      }
      yield sums;
    }
  }
}

async function* eachOf<Item>(
  all: AsyncIterable<readonly Item[]> | readonly (readonly Item[])[],
): AsyncGenerator<Item, void> {
  for await (const some of all) yield* some;
}

async function* bucketsSince(
  bucketRanges: readonly BucketRange[],
  sinceMs: number,
  read: OccupancyReport["read"],
): AsyncGenerator<TargetBucket, void> {
  for (const bucketRange of bucketRanges) {
    if (bucketRange.toMs <= sinceMs) continue;
    const wanted = { ...bucketRange, fromMs: Math.max(bucketRange.fromMs, sinceMs) };
    for await (const some of read(wanted)) yield* some;
  }
}

function sumsOfGroup({ rows }: CellSums, group: Group): RowSums {
  let sums = rows.get(group);
  if (!sums) {
    const nothing = { accounts: new Map(), dwellsMs: [], ...noIncidents() };
    const peaks = { peak: new PeakSum(), serversPeak: new PeakSum(), highest: 0 };
    rows.set(group, (sums = { ...nothing, ...peaks }));
  }
  return sums;
}

function addBucket(cell: CellSums, groups: Groups, target: number, bucket: Bucket): void {
  add(cell.observedMs, target, bucket.recordedMs - bucket.unobservedMs);
  for (const [name, account] of bucket.names) {
    const sums = sumsOfGroup(cell, groups.leafOf(target, name).group);
    sums.accounts.set(target, addAccount(sums.accounts.get(target) ?? emptyAccount, account));
    if (!account.peaks) continue;
    const { occupied, servers } = account.peaks;
    sums.peak.add(bucket.startMs, occupied);
    sums.highest = Math.max(sums.highest, occupied);
    sums.serversPeak.add(bucket.startMs, servers);
  }
}

function addMissing(cell: CellSums, groups: Groups, averages: ReadonlyMap<Leaf, number>): void {
  for (const [target, ms] of cell.missingMs.entries()) {
    for (const leaf of groups.leavesOf(target)) {
      const serverMs = ms * (averages.get(leaf) ?? 0);
      if (serverMs === 0) continue;
      const { accounts } = sumsOfGroup(cell, leaf.group);
      const account = accounts.get(target) ?? emptyAccount;
      accounts.set(target, { ...account, unobservedMs: account.unobservedMs + serverMs });
    }
  }
}

/** How many servers there were on average in the whole range, while their target was observed or at least known. */
async function averageServers(
  { targets, numbers, wholeRange, read }: OccupancyReport,
  groups: Groups,
): Promise<ReadonlyMap<Leaf, number>> {
  const recordedMs = new Float64Array(targets.length);
  const serverMs = new Map<Leaf, number>();
  for await (const { target, bucket } of bucketsSince(wholeRange, -Infinity, read)) {
    const number = numbers.get(targetName(target));
    if (number === undefined) continue;
    add(recordedMs, number, bucket.recordedMs);
    for (const [name, account] of bucket.names) {
      const leaf = groups.leafOf(number, name);
      serverMs.set(leaf, (serverMs.get(leaf) ?? 0) + serverMsOf(account));
    }
  }
  const averages = new Map<Leaf, number>();
  for (const [number, ms] of recordedMs.entries()) {
    if (ms === 0) continue;
    for (const leaf of groups.leavesOf(number)) averages.set(leaf, (serverMs.get(leaf) ?? 0) / ms);
  }
  return averages;
}

/** Where buckets give upper bounds only, of the whole range. */
async function exactPeaks(
  { fields, numbers, occupiedPeaks }: OccupancyReport,
  { rows }: CellSums,
  groups: Groups,
): Promise<GroupPeaks | null> {
  const isBound = rows.values().some(({ peak }) => peak.get()?.isExact === false);
  if (!isBound || fields.some(isTimeField)) return null;
  return occupiedPeaks((target, value) => {
    const number = numbers.get(targetName(target));
    return number === undefined ? null : groups.leafOf(number, value).group.key;
  });
}

/** A report by name or other value has rows only for observed ones; any other also has rows for groups without servers. */
function rowsOfCell(
  cell: CellSums,
  groups: Groups,
  peaks: GroupPeaks | null,
): readonly ReportRow[] {
  return groups
    .inOrder()
    .filter((group) => !groups.byValue || cell.rows.has(group))
    .map((group) => toRow(cell, group, sumsOfGroup(cell, group), peaks));
}

function toRow(
  { cell, observedMs }: CellSums,
  group: Group,
  sums: RowSums,
  peaks: GroupPeaks | null,
): ReportRow {
  const { accounts, peak, serversPeak, incidents, recoveries } = sums;
  const servers = accounts.values().reduce(addAccount, emptyAccount);
  const isObserved = [...group.targets].some((target) => (observedMs[target] ?? 0) > 0);
  // Each target is weighted by its own observed time.
  const average = (serverMs: (ms: CountByStatus) => number): number =>
    accounts.entries().reduce((sum, [target, { ms }]) => {
      const ofMs = observedMs[target] ?? 0;
      return ofMs > 0 ? sum + serverMs(ms) / ofMs : sum;
    }, 0);
  const bound = peak.get();
  const most = peaks?.get(group.key) ?? 0;
  // Where changes cannot be read, there are too few of them.
  const isExact = peaks !== null && most >= sums.highest;
  return {
    group: { ...cell.labels, ...group.values },
    ms: servers.ms,
    unobservedMs: servers.unobservedMs,
    isObserved,
    occupiedAverage: isObserved ? average(({ occupied }) => occupied) : null,
    occupiedPeak: bound && isExact ? { count: most, isExact } : bound,
    serversAverage: isObserved ? average(countByStatus) : null,
    serversPeak: serversPeak.get()?.count ?? null,
    dwells: servers.dwells,
    dwellsMs: sums.dwellsMs,
    incidents,
    recoveries,
  };
}

function add(sums: Float64Array, index: number, ms: number): void {
  sums[index] = (sums[index] ?? 0) + ms;
}
