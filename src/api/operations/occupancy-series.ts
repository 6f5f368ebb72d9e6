import { z } from "zod";
import { resolutionMs } from "../../fleet/buckets.ts";
import { parseDuration } from "../../fleet/text.ts";
import { readSeries } from "../../reports/occupancy-series.ts";
import type { HistoryContext } from "../context.ts";
import {
  listed,
  listOf,
  parsed,
  rangeFields,
  readRange,
  refuseField,
  targetFields,
  targetFilter,
  texts,
  time,
} from "../fields.ts";
import { defineQuery } from "../operation.ts";
import { ofField } from "./occupancy.ts";
import { timeText, toRatio, toSeconds } from "../view-fields.ts";

const stepAllowed = "a multiple of 5m, such as 5m, 1h or 1d";
const mostCells = 2_000;

export const seriesRequest = z.strictObject({
  ...rangeFields,
  of: ofField,
  from: z.string(rangeFields.from.description).default("24h"),
  ...targetFields,
  server_name: listOf(z.string().max(1_000), "\0").describe(
    "Names of servers, each given by itself",
  ),
  step: parsed(stepAllowed, (written) => {
    const ms = parseDuration(written);
    return ms !== undefined && ms > 0 && ms % resolutionMs["5m"] === 0 ? ms : undefined;
  })
    .optional()
    .describe("The length of a cell. Default: one that makes at most about 400 of them"),
});
export type SeriesRequest = z.input<typeof seriesRequest>;

const column = listed(z.number());

const seriesView = z.object({
  from: time,
  to: time,
  step_seconds: z.number(),
  /** Of each cell its start and its length. The first and the last one are clipped to the range. */
  start: listed(time),
  seconds: column,
  /** The average number of servers over the whole cell: its server time divided by its length. */
  occupied: column,
  idle: column,
  error: column,
  unknown: column,
  unobserved: column,
  notes: texts,
});
export type SeriesView = z.output<typeof seriesView>;

export const reportOccupancySeries = defineQuery({
  name: "reportOccupancySeries",
  isHeavy: true,
  path: "/occupancy/series",
  summary: "How many servers or sandboxes were in each status over time, for a chart",
  request: seriesRequest,
  response: seriesView,
  async handle({ reports, clock }: HistoryContext, request) {
    const { of, from, to, tz: zone, step: stepMs = null, server_name: names } = request;
    if (of === "sandboxes" && names.length > 0) {
      refuseField("server_name", "nothing with of=sandboxes, which have no names");
    }
    const nowMs = clock.now().utcMs;
    const range = readRange({ from, to }, { nowMs, zone });
    const lengthMs = Math.min(range.toMs, nowMs) - range.fromMs;
    if (stepMs !== null && lengthMs / stepMs > mostCells) {
      refuseField("step", `a longer step or a shorter range: at most ${mostCells} cells`);
    }
    const filter = targetFilter(request);
    const found = await readSeries({ of, range, zone, filter, names, stepMs, nowMs }, reports);
    const { cells } = found;
    return {
      from: timeText(found.range.fromMs),
      to: timeText(found.range.toMs),
      step_seconds: toSeconds(found.stepMs),
      start: cells.map(({ fromMs }) => timeText(fromMs)),
      seconds: cells.map(({ fromMs, toMs }) => toSeconds(toMs - fromMs)),
      occupied: cells.map(({ average }) => toRatio(average.occupied)),
      idle: cells.map(({ average }) => toRatio(average.idle)),
      error: cells.map(({ average }) => toRatio(average.error)),
      unknown: cells.map(({ average }) => toRatio(average.unknown)),
      unobserved: cells.map(({ unobserved }) => toRatio(unobserved)),
      notes: found.notes,
    };
  },
});
