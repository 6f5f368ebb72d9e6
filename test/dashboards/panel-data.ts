import { z } from "zod";
import { getJson } from "../e2e/support/peer-process.ts";
import { substitute } from "../support/dashboards.ts";
import type { Choice, Panel, Target } from "../support/dashboards.ts";
import { scrapeSeconds } from "./simulated-day.ts";

/** A data frame of Grafana, as its data source for Prometheus would return it. */
export interface Frame {
  readonly refId: string;
  readonly fields: readonly {
    readonly name: string;
    readonly type: "time" | "number" | "string";
    readonly labels?: Labels;
    readonly config: object;
    readonly values: readonly unknown[];
  }[];
}

type Labels = Readonly<Record<string, string>>;
type Points = readonly (readonly [atSeconds: number, value: string])[];

/** In seconds since 1970. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

const labels = z.record(z.string(), z.string());
const point = z.tuple([z.number(), z.string()]);
const answer = z.object({
  data: z.object({
    result: z.array(
      z.union([
        z.object({ metric: labels, values: z.array(point) }),
        z.object({ metric: labels, value: point }).transform(({ metric, value }) => ({
          metric,
          values: [value],
        })),
      ]),
    ),
  }),
});

/** How far apart points are in Grafana, in seconds: what a person would choose, about as many as there are pixels. */
const steps = [15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 86_400];
const secondsOf: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

export function seconds(duration: string): number {
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(duration) ?? [];
  const ofUnit = secondsOf[unit];
  if (ofUnit === undefined) throw new TypeError(`not a duration: ${duration}`);
  return Number(count) * ofUnit;
}

/** @returns the range that a panel shows, and how far apart its points are */
export function scaleOf({ gridPos, interval, timeFrom }: Panel, range: TimeRange) {
  const from = timeFrom === undefined ? range.from : range.to - seconds(timeFrom);
  const pixels = gridPos.w * 50;
  const least = Math.max(scrapeSeconds, interval === undefined ? 0 : seconds(interval));
  const wanted = Math.max(least, ((range.to - from) / pixels) * 0.8);
  return { range: { from, to: range.to }, step: steps.find((step) => step >= wanted) ?? 86_400 };
}

export async function ask(
  address: string,
  path: string,
  query: Readonly<Record<string, string | number>>,
): Promise<readonly Series[]> {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, `${value}`);
  return answer.parse(await getJson(`${address}/api/v1/${path}?${text.toString()}`)).data.result;
}

interface Series {
  readonly metric: Labels;
  readonly values: Points;
}

/** What a panel's queries return, in the form in which Grafana's panels get it. */
export async function framesOf(
  address: string,
  panel: Panel,
  choice: Choice,
  whole: TimeRange,
): Promise<readonly Frame[]> {
  const { range, step } = scaleOf(panel, whole);
  const chosen = {
    ...choice,
    __range: `${range.to - range.from}s`,
    __rate_interval: `${Math.max(step + scrapeSeconds, 4 * scrapeSeconds)}s`,
  };
  const frames = await Promise.all(
    panel.targets.map(async (target) => {
      const query = substitute(target.expr, chosen);
      const align = (time: number): number => Math.floor(time / step) * step;
      const series = target.instant
        ? await ask(address, "query", { query, time: range.to })
        : await ask(address, "query_range", {
            query,
            start: align(range.from),
            end: align(range.to),
            step,
          });
      const inTable = panel.targets.length > 1 ? `Value #${target.refId}` : "Value";
      if (target.format === "table") return table(series, target, inTable);
      if (target.format === "heatmap") return histogram(series, target, step);
      return series.map((each) => overTime(each, target, step));
    }),
  );
  return frames.flat();
}

function overTime({ metric, values }: Series, target: Target, step: number): Frame {
  const { refId, legendFormat = "" } = target;
  const displayNameFromDS = legendFormat.replaceAll(
    /\{\{(\w+)\}\}/g,
    (_, label: string) => metric[label] ?? "",
  );
  return {
    refId,
    fields: [
      timeField(values, step),
      {
        name: "Value",
        type: "number",
        labels: metric,
        config: { displayNameFromDS },
        values: numbersOf(values),
      },
    ],
  };
}

function table(series: readonly Series[], { refId }: Target, value: string): readonly Frame[] {
  if (series.length === 0) return [];
  const names = [...new Set(series.flatMap(({ metric }) => Object.keys(metric)))].toSorted();
  const points = series.flatMap(({ values }) => values);
  return [
    {
      refId,
      fields: [
        timeField(points, 0),
        ...names.map((name) => ({
          name,
          type: "string" as const,
          config: { filterable: true },
          values: series.map(({ metric }) => metric[name] ?? ""),
        })),
        { name: value, type: "number", config: {}, values: numbersOf(points) },
      ],
    },
  ];
}

/** A field for each bucket, of what is in it and not in the one below. */
function histogram(series: readonly Series[], { refId }: Target, step: number): readonly Frame[] {
  const buckets = series.toSorted((one, other) => boundOf(one) - boundOf(other));
  const times = [...new Set(buckets.flatMap(({ values }) => values.map(([at]) => at)))].toSorted(
    (one, other) => one - other,
  );
  if (times.length === 0) return [];
  let below = times.map(() => 0);
  const fields = buckets.map((bucket) => {
    const at = new Map(bucket.values);
    const counts = times.map((time) => Number(at.get(time) ?? 0));
    const values = counts.map((count, index) => count - (below[index] ?? 0));
    below = counts;
    return { name: bucket.metric["le"] ?? "", type: "number" as const, config: {}, values };
  });
  return [
    {
      refId,
      fields: [
        timeField(
          times.map((at) => [at, ""]),
          step,
        ),
        ...fields,
      ],
    },
  ];
}

function boundOf({ metric }: Series): number {
  return Number(metric["le"]?.replace("Inf", "Infinity"));
}

function timeField(points: Points, step: number): Frame["fields"][number] {
  const values = points.map(([at]) => at * 1_000);
  return { name: "Time", type: "time", config: { interval: step * 1_000 }, values };
}

/** What is no number is none: it would not be JSON. */
function numbersOf(points: Points): readonly (number | null)[] {
  return points.map(([, text]) => {
    const value = Number(text);
    return Number.isFinite(value) ? value : null;
  });
}
