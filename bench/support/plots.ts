import type { Result } from "./result.ts";
import { drawPlot } from "./svg.ts";
import type { Plot, Point, Series } from "./svg.ts";

type Frame = Omit<Plot, "series"> & { readonly file: string };

const frames: Readonly<Record<string, Frame>> = {
  servers: {
    file: "growth-servers.svg",
    title: "CPU of a poll for each server",
    xTitle: "servers in the listing",
    yTitle: "nanoseconds a server",
    xScale: "log",
  },
  changed: {
    file: "growth-changed.svg",
    title: "CPU of a poll of 100,000 servers, by the share that changed status",
    xTitle: "changed servers, %",
    yTitle: "milliseconds a poll",
    xScale: "linear",
  },
};

export interface DrawnPlot {
  readonly file: string;
  readonly svg: string;
}

/** A plot for each frame that some result stands in. */
export function drawPlots(results: readonly Result[]): readonly DrawnPlot[] {
  return Object.entries(frames).flatMap(([plot, { file, ...frame }]) => {
    const series = seriesOf(results, plot);
    return series.length > 0 ? [{ file, svg: drawPlot({ ...frame, series }) }] : [];
  });
}

function seriesOf(results: readonly Result[], plot: string): readonly Series[] {
  const points = new Map<string, Point[]>();
  for (const { plot: place, value } of results) {
    if (place?.plot !== plot || !value) continue;
    const list = points.get(place.series) ?? [];
    list.push({ x: place.x, y: value.median });
    points.set(place.series, list);
  }
  return Array.from(points, ([name, list]) => ({ name, points: list }));
}
