import { serverMsOf } from "../fleet/buckets.ts";
import { targetName } from "../fleet/model.ts";
import { RefusedError } from "../lib/refused-error.ts";
import type { Counted } from "../fleet/buckets.ts";
import type { TargetFilter } from "../store/occupancy-history.ts";
import { countedFor, isTimeField, valueFieldOf } from "./report-fields.ts";
import type { ReportField, ReportedKind } from "./report-fields.ts";
import { readIncidentTimes } from "./incident-times.ts";
import { reportOccupancy, type OccupancyReport } from "./occupancy-report.ts";
import { planReport, timeText } from "./bucket-plan.ts";
import type { PlacedRow, Report, RowPosition } from "./report-rows.ts";
import type { UnitFilter } from "../store/unit-history.ts";
import { keptRange, reportUnits } from "./server-report.ts";
import type { ReportSources } from "./report-sources.ts";
import { selectTargets, type ReportedTarget } from "./reported-targets.ts";
import type { TimeRange } from "./time-range.ts";
import type { Zone } from "./zone.ts";

export interface ReportQuery {
  readonly of: ReportedKind;
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  readonly zone: Zone;
  readonly filter: TargetFilter;
  /** Of a report by server or sandbox: which of them. */
  readonly only?: UnitFilter | undefined;
  readonly nowMs: number;
  /** The position of the last row that is not wanted; null: all are. */
  readonly after: RowPosition | null;
}

/**
 * Opens what reports of a range are made of.
 *
 * @throws {RefusedError} when the range has not begun
 */
export async function openOccupancy(
  { range: wanted, zone, filter, nowMs }: Pick<ReportQuery, "range" | "zone" | "filter" | "nowMs">,
  sources: ReportSources,
) {
  checkBegun(wanted, nowMs);
  const asked = { fromMs: wanted.fromMs, toMs: Math.min(wanted.toMs, nowMs) };
  const occupancy = await sources.occupancy.open(filter);
  const { recorded, keptFrom } = occupancy;
  const watched = await sources.targets();
  const begunMs = Math.min(...recorded.map(({ fromMs }) => fromMs));
  const selectIn = (range: TimeRange): readonly ReportedTarget[] =>
    selectTargets(watched, recorded, { range, filter, nowMs });

  /** What a report is made of, but for incidents. */
  const reportOf = (
    range: TimeRange,
    by: readonly ReportField[],
    counted: Counted,
    stepMs?: number,
  ) => {
    const kept = { zone, keptFrom, begunMs };
    const plan = planReport({ ...kept, range, fields: by.filter(isTimeField), stepMs });
    const targets = selectIn(plan.range);
    return {
      plan,
      wholeRange: planReport({ ...kept, range: plan.range, fields: [] }).bucketRanges,
      fields: by,
      targets,
      labelsOf: sources.labelsOf,
      numbers: new Map(targets.map((each, at) => [targetName(each.target), at])),
      incidents: [],
      occupiedPeaks: async () => null,
      read: (bucketRange: Parameters<typeof occupancy.buckets>[0]) =>
        occupancy.buckets(bucketRange, counted),
    };
  };
  const notesOn = (targets: readonly ReportedTarget[], more: readonly string[]) => [
    ...(wanted.toMs > nowMs
      ? ["The range ends in the future: the report covers it until now."]
      : []),
    ...more,
    ...(targets.length === 0 ? ["No target matches."] : []),
  ];
  return { asked, occupancy, recorded, keptFrom, selectIn, reportOf, notesOn };
}

/** Of single servers and sandboxes: as many as are read in about ten seconds. */
const mostChanges = 1_000_000;

/** @throws {RefusedError} when the range has not begun, or has too many changes for what it asks for */
export async function openReport(query: ReportQuery, sources: ReportSources): Promise<Report> {
  const { of, fields, only, nowMs, after } = query;
  const total = countedFor(of, []);
  const opened = await openOccupancy(query, sources);
  const { asked, occupancy, selectIn, reportOf, notesOn } = opened;
  /** Of a range as a whole. */
  const readCoverageNotes = async (range: TimeRange): Promise<readonly string[]> => {
    if (after !== null) return [];
    const ofAll = createCoverage();
    for await (const _ of ofAll.of(reportOccupancy(reportOf(range, [], total), null)));
    return ofAll.notes();
  };
  const coverage = createCoverage();

  if (fields.includes("sandbox") || fields.includes("server")) {
    const targets = selectIn(asked);
    const numbers = new Map(targets.map((each, at) => [targetName(each.target), at]));
    // What a poll observed at this very moment has happened, too.
    const range = { ...asked, toMs: asked.toMs === nowMs ? nowMs + 1 : asked.toMs };
    const incidents = await readIncidentTimes(sources, occupancy, range, of, numbers);
    const kept = keptRange(range, occupancy);
    if (after === null && !only && (await occupancy.hasMoreChanges(kept, mostChanges))) {
      const allowed = "a shorter range, one region or key, or by=server_name";
      const text = `There are more than ${mostChanges.toLocaleString("en")} changes in the range, which would take too long to read. Ask for ${allowed}.`;
      throw new RefusedError("invalid", text, [{ path: "by", allowed }]);
    }
    const { labelsOf } = sources;
    const sinceMs = occupancy.changesKeptFromMs;
    const meaning =
      sinceMs < range.toMs
        ? "the report starts then"
        : "nothing is known of single servers and sandboxes before";
    const units = { of, range: kept, fields, targets, only, occupancy, incidents, labelsOf };
    return {
      range: asked,
      fields,
      notes: notesOn(targets, keptNotes("Changes", range, sinceMs, meaning)),
      coverageNotes: async () =>
        only
          ? coverage.notes("Nothing in this range matches.")
          : readCoverageNotes({ ...asked, fromMs: kept.fromMs }),
      rows: coverage.of(reportUnits(units, after)),
    };
  }

  const counted = countedFor(of, fields);
  const report = reportOf(asked, fields, counted);
  const { plan, numbers } = report;
  const incidents = await readIncidentTimes(sources, occupancy, plan.range, of, numbers);
  const occupiedPeaks: OccupancyReport["occupiedPeaks"] = (groupOf) =>
    occupancy.peaks({ ...plan.range, counted, groupOf });
  const readDwells = (range: TimeRange) => occupancy.dwells(range, counted);
  const whole = { ...report, incidents, occupiedPeaks, readDwells };
  return {
    range: { ...plan.range, toMs: Math.min(plan.range.toMs, nowMs) },
    fields,
    notes: notesOn(report.targets, [
      ...plan.notes,
      // They are deleted with the changes of that time.
      ...keptNotes(
        "Incidents",
        plan.range,
        occupancy.changesKeptFromMs,
        "earlier ones are not counted",
      ),
      ...(valueFieldOf(fields) === "tag"
        ? ["A server with several tags counts in the row of each: rows do not add up."]
        : []),
    ]),
    coverageNotes: async () =>
      after === null && coverage.isWhole() ? coverage.notes() : readCoverageNotes(plan.range),
    rows: coverage.of(reportOccupancy(whole, after)),
  };
}

/** Of a range of which something was deleted. */
function keptNotes(
  what: string,
  { fromMs }: TimeRange,
  sinceMs: number,
  meaning: string,
): readonly string[] {
  return sinceMs > fromMs ? [`${what} are kept since ${timeText(sinceMs)}: ${meaning}.`] : [];
}

/** Below this coverage, shares may be far from what they would be. */
const leastCoverage = 0.8;

/** Adds up the rows of a report while they are read. */
function createCoverage() {
  let [wholeMs, unobservedMs, isObserved, isEmpty, isWhole] = [0, 0, false, true, false];
  return {
    async *of(rows: AsyncIterable<PlacedRow>): AsyncGenerator<PlacedRow, void> {
      for await (const placed of rows) {
        const { row } = placed;
        wholeMs += serverMsOf(row);
        unobservedMs += row.unobservedMs;
        isObserved ||= row.isObserved;
        isEmpty = false;
        yield placed;
      }
      isWhole = true;
    },
    /** Whether all were read. */
    isWhole: (): boolean => isWhole,
    notes(ofNothing?: string): readonly string[] {
      const coverage = wholeMs > 0 ? 1 - unobservedMs / wholeMs : Number(isObserved);
      if (isEmpty) return ofNothing === undefined ? [] : [ofNothing];
      if (coverage >= leastCoverage) return [];
      if (coverage <= 0) return ["Nothing was observed in this range."];
      // Rounded down, so that it never says that 80 % is less than that.
      const percent = Math.floor(coverage * 1_000) / 10;
      return [
        `Coverage is ${percent === 0 ? "below 0.1" : percent}%, less than 80%: shares describe only the time that was observed.`,
      ];
    },
  };
}

/** @throws {RefusedError} when nothing of a range has passed */
export function checkBegun({ fromMs }: TimeRange, nowMs: number): void {
  if (fromMs < nowMs) return;
  const fault = { path: "from", allowed: "a time before now" };
  throw new RefusedError("invalid", "The range has not begun yet.", [fault]);
}
