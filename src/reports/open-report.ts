import { RefusedError } from "../lib/refusal.ts";
import { isTimeField } from "./fields.ts";
import type { ReportField } from "./fields.ts";
import { readIncidentTimes } from "./incident-times.ts";
import { keptFromOf } from "./kept.ts";
import { reportOccupancy } from "./occupancy-report.ts";
import { planReport } from "./plan.ts";
import type { Stretch } from "./plan.ts";
import { placeRows } from "./row.ts";
import type { Report, ReportRow, RowPlace } from "./row.ts";
import { reportServers } from "./server-report.ts";
import type { ReportSources } from "./sources.ts";
import { numberTargets, selectTargets } from "./targets.ts";
import type { TargetFilter } from "./targets.ts";
import type { TimeRange } from "./time-range.ts";
import type { Zone } from "./zone.ts";

export interface ReportQuery {
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  readonly zone: Zone;
  readonly filter: TargetFilter;
  readonly nowMs: number;
  /** The place of the last row that is not wanted; null: all are. */
  readonly after: RowPlace | null;
}

/** @throws {RefusedError} when the range has not begun */
export async function openReport(query: ReportQuery, sources: ReportSources): Promise<Report> {
  const { fields, zone, filter, nowMs, after } = query;
  checkBegun(query.range, nowMs);
  const notes =
    query.range.toMs > nowMs
      ? ["The range ends in the future: the report covers it until now."]
      : [];
  const asked = { fromMs: query.range.fromMs, toMs: Math.min(query.range.toMs, nowMs) };
  const extents = await sources.occupancy.extents();
  const watched = await sources.targets();
  const selected = (range: TimeRange) => selectTargets(watched, extents, { range, filter, nowMs });
  const shown = (range: TimeRange): TimeRange => ({ ...range, toMs: Math.min(range.toMs, nowMs) });

  if (fields.includes("sandbox") || fields.includes("server")) {
    const targets = selected(asked);
    // What a poll saw at this very moment has happened, too.
    const range = { ...asked, toMs: asked.toMs === nowMs ? nowMs + 1 : asked.toMs };
    const incidents = await readIncidentTimes(sources, range, numberTargets(targets));
    const report = { range, fields, targets, filter, extents, incidents, sources };
    const reported = await reportServers(report);
    return {
      range: asked,
      fields,
      notes: [...notes, ...reported.notes, ...notesOn(targets)],
      rows: inOrder(reported.rows, asked.fromMs, after),
    };
  }

  const keptFrom = keptFromOf(extents);
  const begunMs = Math.min(...extents.map(({ firstMs }) => firstMs));
  const kept = { zone, keptFrom, begunMs };
  const plan = planReport({ ...kept, range: asked, fields: fields.filter(isTimeField) });
  const whole = planReport({ ...kept, range: plan.range, fields: [] });
  const targets = selected(plan.range);
  const byName = fields.includes("server_name");
  const report = {
    plan,
    wholeRange: whole.stretches,
    fields,
    targets,
    incidents: await readIncidentTimes(sources, plan.range, numberTargets(targets)),
    read: (stretch: Stretch) => sources.occupancy.buckets({ ...stretch, ...filter, byName }),
  };
  return {
    range: shown(plan.range),
    fields,
    notes: [...notes, ...plan.notes, ...notesOn(targets)],
    rows: reportOccupancy(report, after),
  };
}

/** @throws {RefusedError} when nothing of a range has passed */
export function checkBegun({ fromMs }: TimeRange, nowMs: number): void {
  if (fromMs < nowMs) return;
  const fault = { path: "from", allowed: "a time before now" };
  throw new RefusedError("invalid", "The range has not begun yet.", [fault]);
}

function notesOn(targets: readonly object[]): readonly string[] {
  return targets.length === 0 ? ["No target matches."] : [];
}

async function* inOrder(rows: readonly ReportRow[], cellMs: number, after: RowPlace | null) {
  yield* placeRows(rows, cellMs, after);
}
