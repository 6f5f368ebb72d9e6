import { linearScale, logScale } from "./scale.ts";
import type { Scale } from "./scale.ts";

export interface Plot {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly xScale: "linear" | "log";
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

const width = 760;
const height = 440;
const area = { left: 84, right: 716, top: 92, bottom: 372 };
/** Each is told from white and from black, and from one another without colour by its dashes. */
const strokes = [
  { color: "#8a8f98", dash: "2 5" },
  { color: "#b7791f", dash: "8 5" },
  { color: "#d6456b", dash: "" },
  { color: "#2f8fd8", dash: "" },
] as const;

/** A line chart that is read on white and on black: nothing is drawn behind it. */
export function drawPlot(plot: Plot): string {
  const points = plot.series.flatMap((each) => each.points);
  const xs = points.map(({ x }) => x);
  const span = { from: area.left, to: area.right };
  const x = plot.xScale === "log" ? logScale(xs, span) : linearScale(xs, span);
  const y = linearScale(
    points.map((point) => point.y),
    { from: area.bottom, to: area.top },
  );
  const middle = (area.left + area.right) / 2;
  const parts = [
    `<title>${escape(plot.title)}</title>`,
    style,
    text(area.left, 26, plot.title, "title"),
    ...y.ticks.map((tick) => horizontal(y.at(tick), formatTick(tick))),
    ...x.ticks.map((tick) => vertical(x.at(tick), formatTick(tick))),
    text(middle, height - 18, plot.xTitle, "axis", "middle"),
    text(area.left, 76, plot.yTitle, "axis"),
    ...plot.series.map((each, index) => drawSeries(each, { x, y }, index)),
    ...plot.series.map((each, index) => drawLegend(each.name, index)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, sans-serif" font-size="13">\n${parts.join("\n")}\n</svg>\n`;
}

const style = `<style>
text { fill: #6e7681; } .title { font-size: 16px; font-weight: 600; }
.grid { stroke: #6e7681; stroke-opacity: 0.25; } .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) { text { fill: #9da5b0; } }
</style>`;

function drawSeries({ points }: Series, scales: { x: Scale; y: Scale }, index: number): string {
  const { color, dash } = strokeOf(index);
  const placed = points
    .toSorted((a, b) => a.x - b.x)
    .map((point) => ({ x: scales.x.at(point.x), y: scales.y.at(point.y) }));
  const path = placed.map((point) => `${point.x},${point.y}`).join(" ");
  const dots = placed.map(
    (point) => `<circle cx="${point.x}" cy="${point.y}" r="3.5" fill="${color}"/>`,
  );
  return `<polyline class="line" stroke="${color}" stroke-dasharray="${dash}" points="${path}"/>${dots.join("")}`;
}

function drawLegend(name: string, index: number): string {
  const { color, dash } = strokeOf(index);
  const left = area.left + index * 165;
  return `<line class="line" stroke="${color}" stroke-dasharray="${dash}" x1="${left}" x2="${left + 26}" y1="48" y2="48"/>${text(left + 33, 52, name)}`;
}

function strokeOf(index: number): (typeof strokes)[number] {
  return strokes[index % strokes.length] ?? strokes[0];
}

function horizontal(y: number, label: string): string {
  return `<line class="grid" x1="${area.left}" x2="${area.right}" y1="${y}" y2="${y}"/>${text(area.left - 9, y + 4, label, "", "end")}`;
}

function vertical(x: number, label: string): string {
  return `<line class="grid" x1="${x}" x2="${x}" y1="${area.top}" y2="${area.bottom}"/>${text(x, area.bottom + 20, label, "", "middle")}`;
}

function text(x: number, y: number, content: string, name = "", anchor = "start"): string {
  const named = name === "" ? "" : ` class="${name}"`;
  return `<text${named} x="${x}" y="${y}" text-anchor="${anchor}">${escape(content)}</text>`;
}

function formatTick(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 3 });
}

function escape(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
