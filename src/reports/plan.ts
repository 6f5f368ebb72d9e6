import { resolutionMs, resolutions } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import { cellsOf } from "./cells.ts";
import type { Cell } from "./cells.ts";
import type { TimeField } from "./fields.ts";
import type { TimeRange } from "./time-range.ts";
import { toLocal, toUtc } from "./zone.ts";
import type { Zone } from "./zone.ts";

/** From when on there are buckets of each resolution. UTC milliseconds; -Infinity: from the beginning. */
export type KeptFrom = Readonly<Record<Resolution, number>>;

/** Buckets of one resolution, to be read one stretch after the other. */
export interface Stretch extends TimeRange {
  readonly resolution: Resolution;
}

/** Which buckets make a report, and which of its rows each is in. */
export interface Plan {
  /** What is told of: the range asked for, widened to whole buckets. */
  readonly range: TimeRange;
  /**
   * Those that end after a moment, in order; a bucket is in the one that holds its beginning. They can
   * be gone through again.
   */
  readonly cellsSince: (sinceMs: number) => Iterable<Cell>;
  readonly stretches: readonly Stretch[];
  readonly notes: readonly string[];
}

export interface PlanRequest {
  readonly range: TimeRange;
  /** Of the fields that rows are by. */
  readonly fields: readonly TimeField[];
  readonly zone: Zone;
  readonly keptFrom: KeptFrom;
  /** When the first target was first booked: of what was before there is nothing to be read. */
  readonly begunMs: number;
}

const dayMs = 24 * 60 * 60_000;

/** Takes the coarsest buckets that will do, for the finest there are at the edges. */
export function planReport({ range, fields, zone, keptFrom, begunMs }: PlanRequest): Plan {
  const usable: Resolution[] = fields.includes("hour") ? ["5m", "1h"] : [...resolutions];
  const finestAt = (atMs: number): Resolution =>
    usable.find((resolution) => keptFrom[resolution] <= atMs) ?? "5m";
  const up = (atMs: number): number => {
    const unitMs = resolutionMs[finestAt(atMs)];
    return Math.ceil(atMs / unitMs) * unitMs;
  };
  const unitMs = resolutionMs[finestAt(range.fromMs)];
  const covered = {
    fromMs: Math.floor(range.fromMs / unitMs) * unitMs,
    toMs: up(range.toMs),
  };

  const calendarSince = (sinceMs: number): Iterable<Cell> => {
    // From any midnight on they are the same; a few days before show where those begin that are moved.
    const midnightMs = toUtc(zone, Math.floor(toLocal(zone, sinceMs) / dayMs - 3) * dayMs);
    const fromMs = fields.length === 0 ? covered.fromMs : Math.max(covered.fromMs, midnightMs);
    return cellsOf({ ...covered, fromMs }, fields, zone);
  };
  function* cellsSince(sinceMs: number): Iterable<Cell> {
    let atMs = covered.fromMs;
    let isFirst = true;
    for (const cell of calendarSince(sinceMs)) {
      if (isFirst) atMs = cell.fromMs;
      isFirst = false;
      const endMs = up(cell.toMs);
      if (endMs > Math.max(atMs, sinceMs)) yield { ...cell, fromMs: atMs, toMs: endMs };
      atMs = Math.max(atMs, endMs);
    }
  }
  const knownFromMs = Math.max(covered.fromMs, Math.min(begunMs, covered.toMs));
  const isMoved = Iterator.from(calendarSince(knownFromMs)).some(
    ({ toMs }) => toMs > knownFromMs && up(toMs) !== toMs,
  );
  const firstMs = Math.min(...usable.map((resolution) => keptFrom[resolution]));
  return {
    range: covered,
    cellsSince,
    stretches: stretchesOf(cellsSince(knownFromMs), usable, keptFrom),
    notes: [
      ...(isWidened(range, covered)
        ? [
            `No finer buckets are kept for that time: the report covers ${timeText(covered.fromMs)} to ${timeText(covered.toMs)}.`,
          ]
        : []),
      ...(isMoved
        ? [
            `The buckets that are kept for that time do not start with the ${fields.includes("hour") ? "hours" : "days"} of ${zone.name}: each counts for the one in which it starts.`,
          ]
        : []),
      ...(firstMs > covered.fromMs
        ? [
            `${fields.includes("hour") ? "Hours are" : "History is"} kept since ${timeText(firstMs)}: earlier time counts as unobserved.`,
          ]
        : []),
    ],
  };
}

/** Of less than five minutes, to which all ranges are rounded, nothing is said. */
function isWidened(asked: TimeRange, covered: TimeRange): boolean {
  const leastMs = resolutionMs["5m"];
  return asked.fromMs - covered.fromMs >= leastMs || covered.toMs - asked.toMs >= leastMs;
}

/** In UTC, without what it does not need. */
export function timeText(atMs: number): string {
  return new Date(atMs).toISOString().replace(/:00\.000Z$/, "Z");
}

function stretchesOf(
  cells: Iterable<Cell>,
  usable: readonly Resolution[],
  keptFrom: KeptFrom,
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  const add = (stretch: Stretch): void => {
    const last = stretches.at(-1);
    if (last?.resolution !== stretch.resolution || last.toMs !== stretch.fromMs) {
      stretches.push(stretch);
    } else {
      stretches[stretches.length - 1] = { ...last, toMs: stretch.toMs };
    }
  };
  const coarsestFirst = usable.toReversed();
  const firstMs = Math.min(...usable.map((each) => keptFrom[each]));
  for (const { fromMs, toMs } of cells) {
    for (let atMs = fromMs; atMs < toMs;) {
      const resolution = coarsestFirst.find(
        (each) =>
          atMs % resolutionMs[each] === 0 &&
          atMs + resolutionMs[each] <= toMs &&
          atMs >= keptFrom[each],
      );
      const endMs = resolution
        ? atMs + wholeOnes(atMs, toMs, resolution, usable) * resolutionMs[resolution]
        : Math.max(atMs + resolutionMs["5m"], firstMs);
      if (resolution) add({ resolution, fromMs: atMs, toMs: endMs });
      atMs = endMs;
    }
  }
  return stretches;
}

/** How many of a resolution there are in a row, before coarser ones can be taken or the end comes. */
function wholeOnes(
  atMs: number,
  toMs: number,
  resolution: Resolution,
  usable: readonly Resolution[],
): number {
  const sizeMs = resolutionMs[resolution];
  const coarser = usable[usable.indexOf(resolution) + 1];
  const boundMs = coarser
    ? (Math.floor(atMs / resolutionMs[coarser]) + 1) * resolutionMs[coarser]
    : toMs;
  return Math.max(1, Math.floor((Math.min(boundMs, toMs) - atMs) / sizeMs));
}
