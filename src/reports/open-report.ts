import { targetName } from "../fleet/model.ts";
import { RefusedError } from "../lib/refused-error.ts";
import type { TargetFilter } from "../store/occupancy-history.ts";
import { isTimeField, type ReportField } from "./report-fields.ts";
import { readIncidentTimes } from "./incident-times.ts";
import { reportOccupancy } from "./occupancy-report.ts";
import { planReport, timeText } from "./bucket-plan.ts";
import type { Report, RowPosition } from "./report-rows.ts";
import { keptRange, reportServers } from "./server-report.ts";
import type { ReportSources } from "./report-sources.ts";
import { keptFromOf, selectTargets, type ReportedTarget } from "./reported-targets.ts";
import type { TimeRange } from "./time-range.ts";
import type { Zone } from "./zone.ts";

export interface ReportQuery {
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  readonly zone: Zone;
  readonly filter: TargetFilter;
  readonly nowMs: number;
  /** The position of the last row that is not wanted; null: all are. */
  readonly after: RowPosition | null;
}

/** @throws {RefusedError} when the range has not begun */
export async function openReport(query: ReportQuery, sources: ReportSources): Promise<Report> {
  const { fields, zone, filter, nowMs, after } = query;
  checkBegun(query.range, nowMs);
  const asked = { fromMs: query.range.fromMs, toMs: Math.min(query.range.toMs, nowMs) };
  const occupancy = await sources.occupancy.open(filter);
  const { extents } = occupancy;
  const watched = await sources.targets();
  const select = (range: TimeRange) => {
    const targets = selectTargets(watched, extents, { range, filter, nowMs });
    return { targets, numbers: new Map(targets.map((each, at) => [targetName(each.target), at])) };
  };
  const notesOn = (targets: readonly ReportedTarget[], more: readonly string[]) => [
    ...(query.range.toMs > nowMs
      ? ["The range ends in the future: the report covers it until now."]
      : []),
    ...more,
    ...(targets.length === 0 ? ["No target matches."] : []),
  ];

  if (fields.includes("sandbox") || fields.includes("server")) {
    const { targets, numbers } = select(asked);
    // What a poll observed at this very moment has happened, too.
    const range = { ...asked, toMs: asked.toMs === nowMs ? nowMs + 1 : asked.toMs };
    const incidents = await readIncidentTimes(sources, range, numbers);
    const kept = await keptRange(range, filter, sources);
    const isCut = kept.fromMs > range.fromMs;
    const cut = `Changes are kept since ${timeText(kept.fromMs)}: the report starts then.`;
    return {
      range: asked,
      fields,
      notes: notesOn(targets, isCut ? [cut] : []),
      rows: reportServers(
        { range: kept, fields, targets, filter, extents, sources, incidents },
        after,
      ),
    };
  }

  const keptFrom = keptFromOf(extents);
  const begunMs = Math.min(...extents.map(({ firstMs }) => firstMs));
  const kept = { zone, keptFrom, begunMs };
  const plan = planReport({ ...kept, range: asked, fields: fields.filter(isTimeField) });
  const { range } = plan;
  const { targets, numbers } = select(range);
  const byName = fields.includes("server_name");
  const report = {
    plan,
    wholeRange: planReport({ ...kept, range, fields: [] }).bucketRanges,
    fields,
    targets,
    numbers,
    incidents: await readIncidentTimes(sources, range, numbers),
    read: (bucketRange: Parameters<typeof occupancy.buckets>[0]) =>
      occupancy.buckets(bucketRange, byName),
  };
  return {
    range: { ...range, toMs: Math.min(range.toMs, nowMs) },
    fields,
    notes: notesOn(targets, plan.notes),
    rows: reportOccupancy(report, after),
  };
}

/** @throws {RefusedError} when nothing of a range has passed */
export function checkBegun({ fromMs }: TimeRange, nowMs: number): void {
  if (fromMs < nowMs) return;
  const fault = { path: "from", allowed: "a time before now" };
  throw new RefusedError("invalid", "The range has not begun yet.", [fault]);
}
