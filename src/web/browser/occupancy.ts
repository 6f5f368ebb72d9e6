import uPlot from "uplot";
import { onNews, refresh } from "./live.ts";
import { followSoftly, go } from "./soft.ts";
import { zone } from "./times.ts";

const statuses = ["occupied", "idle", "error", "unknown", "unobserved"] as const;
type Status = (typeof statuses)[number];

/** The averages of each cell, as the server writes them. Times are seconds of UTC. */
interface Series extends Readonly<Record<Status, readonly number[]>> {
  readonly start: readonly number[];
  readonly to: number;
}

const chartHeight = 232;
const marginRight = 12;
const countsWidth = 46;
/** Of a time below the chart, which is centred. */
const halfLabel = 32;
/** A shorter drag is a click. */
const leastDragPx = 6;
const bucketSeconds = 300;

let chart: uPlot | null = null;
let series: Series | null = null;
let drawn = "";
let tz = "UTC";

/** The server then renders days and hours of this zone. An address that names one has precedence. */
function noteZone(): void {
  if (document.cookie.split("; ").includes(`tz=${zone}`)) return;
  const { root = "" } = document.documentElement.dataset;
  const { pathname } = new URL(root === "" ? "./" : root, location.href);
  document.cookie = `tz=${zone}; path=${pathname}; max-age=31536000; samesite=lax`;
  if (zone !== "UTC") void refresh();
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function hatching(): CanvasPattern | string {
  const size = 8 * devicePixelRatio;
  const canvas = new OffscreenCanvas(size, size);
  const context = canvas.getContext("2d");
  if (!context) return colour("unobserved");
  context.strokeStyle = colour("unobserved");
  context.lineWidth = size / 3;
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift - size / 2, size * 1.5);
    context.lineTo(shift + size * 1.5, -size / 2);
  }
  context.stroke();
  return context.createPattern(canvas, "repeat") ?? colour("unobserved");
}

/** Each status on top of those before it; the last cell ends where the range ends. */
function stack({ start, to, ...counts }: Series): uPlot.AlignedData {
  let below = start.map(() => 0);
  const stacked = statuses.map((status) => {
    below = below.map((sum, at) => sum + (counts[status][at] ?? 0));
    return [...below, below.at(-1) ?? 0];
  });
  // The highest is drawn first, and the others over it.
  return [[...start, to], ...stacked.toReversed()];
}

function options(width: number): uPlot.Options {
  const time = new Intl.DateTimeFormat(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    timeZone: tz,
  });
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: tz });
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const grid = { stroke: () => colour("line"), width: 1 };
  const axis = {
    stroke: () => colour("dim"),
    grid,
    ticks: { show: false },
    font: "12px system-ui",
  };
  return {
    width,
    height: chartHeight,
    padding: [8, marginRight, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), tz),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] } },
    axes: [
      {
        ...axis,
        size: 28,
        space: 2 * halfLabel,
        values: (plot, splits) =>
          splits.map((at) =>
            isCut(plot, at) ? "" : (isMidnight(at) ? day : time).format(at * 1_000),
          ),
      },
      {
        ...axis,
        size: countsWidth,
        values: (_, splits) => splits.map((count) => count.toLocaleString()),
      },
    ],
    series: [
      {},
      ...statuses.toReversed().map((status): uPlot.Series => ({
        label: status,
        fill: () => (status === "unobserved" ? hatching() : colour(status)),
        width: 0,
        points: { show: false },
        ...(stepped && { paths: stepped }),
      })),
    ],
    hooks: { setSelect: [zoom], setCursor: [showTip] },
  };
}

/** Whether a label would end right of the chart. */
function isCut({ width, scales }: uPlot, seconds: number): boolean {
  const { min = 0, max = 1 } = scales["x"] ?? {};
  const rest = (max - seconds) / (max - min);
  return rest * (width - countsWidth - marginRight) + marginRight < halfLabel;
}

/** In the zone of the chart. */
function isMidnight(seconds: number): boolean {
  const date = uPlot.tzDate(new Date(seconds * 1_000), tz);
  return date.getHours() + date.getMinutes() === 0;
}

function zoom(plot: uPlot): void {
  const { left, width } = plot.select;
  if (width < leastDragPx) return;
  const at = (px: number, round: (value: number) => number): string => {
    const seconds = round(plot.posToVal(px, "x") / bucketSeconds) * bucketSeconds;
    return new Date(seconds * 1_000).toISOString().replace(":00.000Z", "Z");
  };
  const query = new URLSearchParams(location.search);
  const zoomed = { from: at(left, Math.floor), to: at(left + width, Math.ceil) };
  for (const [name, time] of Object.entries(zoomed)) query.set(name, time);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  hideTip();
  void go(`?${query}`);
}

function place(): HTMLElement | null {
  return document.querySelector<HTMLElement>("#occupancy-plot");
}

function hideTip(): void {
  const tip = place()?.querySelector<HTMLElement>(".tip");
  if (tip) tip.hidden = true;
}

function showTip(plot: uPlot): void {
  const tip = place()?.querySelector<HTMLElement>(".tip");
  const { idx, left = -1 } = plot.cursor;
  if (!tip || !series || idx === null || idx === undefined || left < 0) return hideTip();
  // The value after the last cell only ends it. A step holds from its start on.
  const seconds = plot.posToVal(left, "x");
  const found = series.start.findLastIndex((start) => start <= seconds);
  const at = Math.max(0, found);
  const { lines, title } = textOf(series, at);
  tip.replaceChildren(title, listOf(lines));
  tip.hidden = false;
  const offset = plot.over.offsetLeft + left;
  const isRight = left > plot.over.clientWidth / 2;
  tip.style.left = isRight ? "auto" : `${offset + 14}px`;
  tip.style.right = isRight ? `${(place()?.clientWidth ?? 0) - offset + 14}px` : "auto";
  tip.style.top = "12px";
}

function textOf(shown: Series, at: number) {
  const from = (shown.start[at] ?? 0) * 1_000;
  const to = (shown.start[at + 1] ?? shown.to) * 1_000;
  const format = new Intl.DateTimeFormat(undefined, {
    ...(shown.to - (shown.start[0] ?? 0) > 86_400 && { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    timeZone: tz,
  });
  const lines = statuses.map((status) => {
    const count = shown[status][at] ?? 0;
    return [status, count.toLocaleString(undefined, { maximumFractionDigits: 2 })] as const;
  });
  return { title: format.formatRange(from, to), lines };
}

function listOf(lines: readonly (readonly [string, string])[]): HTMLElement {
  const list = document.createElement("dl");
  for (const [name, value] of lines) {
    const term = document.createElement("dt");
    term.textContent = name;
    const details = document.createElement("dd");
    details.textContent = value;
    list.append(term, details);
  }
  return list;
}

/** Arrow keys move from cell to cell, and each is read aloud. */
function answerKey(event: KeyboardEvent, said: HTMLElement): void {
  if (!chart || !series) return;
  const last = series.start.length - 1;
  const { idx } = chart.cursor;
  const at = idx ?? null;
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: at === null ? last : at - 1,
    ArrowRight: at === null ? 0 : at + 1,
    Home: 0,
    End: last,
  };
  const moved = moves[event.key];
  if (event.key === "Escape") chart.setCursor({ left: -10, top: -10 });
  if (moved === undefined) return;
  event.preventDefault();
  const next = Math.min(last, Math.max(0, moved));
  // A little behind its start: the cell before ends there.
  const from = series.start[next] ?? 0;
  chart.setCursor({ left: chart.valToPos(from, "x") + 0.5, top: 20 });
  const { title, lines } = textOf(series, next);
  said.textContent = `${title}: ${lines.map(([name, value]) => `${value} ${name}`).join(", ")}`;
}

function draw(): void {
  const data = document.querySelector<HTMLElement>("#occupancy-data");
  const element = place();
  const { series: text = "", tz: named = "UTC" } = data?.dataset ?? {};
  if (!element || text === "") return;
  if ("keep" in element.dataset && text + named === drawn) return;
  const next: Series = JSON.parse(text);
  if (next.start.length === 0) return;
  series = next;
  drawn = text + named;
  if (chart && element.contains(chart.root) && named === tz) {
    chart.setData(stack(next));
    return;
  }
  tz = named;
  chart?.destroy();
  const canvas = element.querySelector<HTMLElement>(".canvas") ?? prepare(element);
  chart = new uPlot(options(element.clientWidth), stack(next), canvas);
  chart.over.addEventListener("mouseleave", hideTip);
}

/** Puts a place for the chart where the server drew it. */
function prepare(element: HTMLElement): HTMLElement {
  element.dataset["keep"] = "";
  element.tabIndex = 0;
  element.role = "group";
  element.ariaLabel = "Servers by status over time. Arrow keys move through the values.";
  const [canvas, tip, said] = [make("div", "canvas"), make("div", "tip"), make("p", "hidden")];
  tip.hidden = true;
  said.role = "status";
  element.replaceChildren(canvas, tip, said);
  element.addEventListener("keydown", (event) => answerKey(event, said));
  new ResizeObserver(() => {
    if (chart && element.clientWidth !== chart.width) {
      chart.setSize({ width: element.clientWidth, height: chartHeight });
    }
  }).observe(element);
  return canvas;
}

function make(name: string, className: string): HTMLElement {
  const element = document.createElement(name);
  element.className = className;
  return element;
}

/** The chart may come later than the page, which does not wait for what takes long to read. */
function keepDrawn(): void {
  draw();
  onNews(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart?.redraw(false));
}

/** Days are one stop of the Tab key; arrow keys move between them. */
function moveBetweenDays(): void {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const link = target instanceof SVGElement ? target.closest(".days a") : null;
    const next =
      key === "ArrowLeft"
        ? link?.previousElementSibling
        : key === "ArrowRight"
          ? link?.nextElementSibling
          : null;
    if (!(next instanceof SVGAElement)) return;
    event.preventDefault();
    link?.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}

followSoftly();
noteZone();
keepDrawn();
moveBetweenDays();
