import { resolutionMs, resolutions, type Resolution } from "../fleet/buckets.ts";
import type { BucketRange, KeptFrom } from "../store/occupancy-history.ts";
import { cellsOf, type Cell } from "./calendar-cells.ts";
import type { TimeField } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";
import { toLocal, toUtc, type Zone } from "./zone.ts";

/** Which buckets make a report, and which of its rows each is in. */
export interface Plan {
  /** The requested range, widened to whole buckets. */
  readonly range: TimeRange;
  /** The cells that end after a moment, in order. A bucket belongs to the cell that contains its start. */
  readonly cellsSince: (sinceMs: number) => Iterable<Cell>;
  readonly bucketRanges: readonly BucketRange[];
  readonly notes: readonly string[];
}

export interface PlanRequest {
  readonly range: TimeRange;
  /** The time fields by which rows are grouped. */
  readonly fields: readonly TimeField[];
  /** The length of cells of a series, a whole number of five minutes. Hours begin in the zone, others in UTC. */
  readonly stepMs?: number | undefined;
  readonly zone: Zone;
  readonly keptFrom: KeptFrom;
  /** When the first target was first recorded: of what was before there is nothing to be read. */
  readonly begunMs: number;
}

const dayMs = 24 * 60 * 60_000;

/** Takes the coarsest buckets that will do, for the finest there are at the edges. */
export function planReport(request: PlanRequest): Plan {
  const { range, fields, stepMs, zone, keptFrom, begunMs } = request;
  const isInHours = stepMs === resolutionMs["1h"];
  const isByHour = isInHours || fields.includes("hour") || fields.includes("hour_of_day");
  const calendarFields: readonly TimeField[] = isInHours ? ["hour"] : fields;
  const usable = usableFor(stepMs ?? (isByHour ? resolutionMs["1h"] : resolutionMs["1d"]));
  const finestMsAt = (atMs: number): number =>
    resolutionMs[usable.find((resolution) => keptFrom[resolution] <= atMs) ?? "5m"];
  const up = (atMs: number): number => Math.ceil(atMs / finestMsAt(atMs)) * finestMsAt(atMs);
  const unitMs = finestMsAt(range.fromMs);
  const covered = { fromMs: Math.floor(range.fromMs / unitMs) * unitMs, toMs: up(range.toMs) };

  const calendarSince = (sinceMs: number): Iterable<Cell> => {
    if (stepMs !== undefined && !isInHours) return stepsOf(covered, stepMs, sinceMs);
    // From any midnight on they are the same; a few days before show where those begin that are moved.
    const midnightMs = toUtc(zone, Math.floor(toLocal(zone, sinceMs) / dayMs - 3) * dayMs);
    const fromMs =
      calendarFields.length === 0 ? covered.fromMs : Math.max(covered.fromMs, midnightMs);
    return cellsOf({ ...covered, fromMs }, calendarFields, zone);
  };
  function* cellsSince(sinceMs: number): Iterable<Cell> {
    let beginMs: number | null = null;
    for (const cell of calendarSince(sinceMs)) {
      const fromMs: number = beginMs ?? cell.fromMs;
      const toMs = up(cell.toMs);
      if (toMs > Math.max(fromMs, sinceMs)) yield { ...cell, fromMs, toMs };
      beginMs = Math.max(fromMs, toMs);
    }
  }
  const knownFromMs = Math.max(covered.fromMs, Math.min(begunMs, covered.toMs));
  const isMoved = Iterator.from(calendarSince(knownFromMs)).some(
    ({ toMs }) => toMs > knownFromMs && up(toMs) !== toMs,
  );
  const firstMs = Math.min(...usable.map((resolution) => keptFrom[resolution]));
  // All ranges are rounded to five minutes, so a smaller difference is not mentioned.
  const isWidened =
    Math.max(range.fromMs - covered.fromMs, covered.toMs - range.toMs) >= resolutionMs["5m"];
  const notes: string[] = [];
  if (isWidened) {
    notes.push(
      `Nothing finer is kept for that time: the report covers ${timeText(covered.fromMs)} to ${timeText(covered.toMs)}.`,
    );
  }
  if (isMoved) {
    notes.push(
      `What is kept for that time does not start with the ${isByHour ? "hours" : "days"} of ${zone.name}: each part counts for the one in which it starts.`,
    );
  }
  if (firstMs > covered.fromMs) {
    notes.push(
      `${isByHour ? "Hours are" : "History is"} kept since ${timeText(firstMs)}: earlier time counts as unobserved.`,
    );
  }
  const bucketRanges = bucketRangesOf(cellsSince(knownFromMs), usable, keptFrom);
  return { range: covered, cellsSince, bucketRanges, notes };
}

/** The resolutions of which cells of a length are made, from the finest. */
function usableFor(cellMs: number): readonly Resolution[] {
  return resolutions.filter((resolution) => cellMs % resolutionMs[resolution] === 0);
}

/** The first and the last one are clipped to the range. */
function* stepsOf({ fromMs, toMs }: TimeRange, stepMs: number, sinceMs: number): Iterable<Cell> {
  const beginMs = Math.floor(Math.max(fromMs, sinceMs) / stepMs) * stepMs;
  for (let atMs = beginMs; atMs < toMs; atMs += stepMs) {
    yield { fromMs: Math.max(atMs, fromMs), toMs: Math.min(atMs + stepMs, toMs), labels: {} };
  }
}

/** In UTC, without what it does not need. */
export function timeText(atMs: number): string {
  return new Date(atMs).toISOString().replace(/:00\.000Z$/, "Z");
}

/** The coarsest buckets that fit into each cell; adjacent ranges are joined. */
function bucketRangesOf(
  cells: Iterable<Cell>,
  usable: readonly Resolution[],
  keptFrom: KeptFrom,
): readonly BucketRange[] {
  const bucketRanges: BucketRange[] = [];
  const firstMs = Math.min(...usable.map((each) => keptFrom[each]));
  for (const { fromMs, toMs } of cells) {
    for (let atMs = Math.max(fromMs, firstMs); atMs < toMs;) {
      const fits = (each: Resolution): boolean =>
        atMs % resolutionMs[each] === 0 &&
        atMs + resolutionMs[each] <= toMs &&
        atMs >= keptFrom[each];
      const resolution = usable.findLast(fits);
      const endMs = atMs + resolutionMs[resolution ?? "5m"];
      const last = bucketRanges.at(-1);
      if (resolution && last?.resolution === resolution && last.toMs === atMs) {
        bucketRanges[bucketRanges.length - 1] = { ...last, toMs: endMs };
      } else if (resolution) bucketRanges.push({ resolution, fromMs: atMs, toMs: endMs });
      atMs = endMs;
    }
  }
  return bucketRanges;
}
