import type { ReportField } from "../../reports/fields.ts";
import type { RowView } from "../../api/operations/occupancy.ts";
import { offsetText, openZone, toLocal, utc } from "../../reports/zone.ts";
import { printable, shortId } from "../table.ts";
import { cutToWidth, textWidth } from "../text-width.ts";
import { figureColumns, fittingColumns } from "./columns.ts";
import type { FigureColumn } from "./columns.ts";
import type { Texts, StreamedReport } from "./streams.ts";

export interface Screen {
  /** Default: unlimited. */
  readonly columns?: number | undefined;
  /** Whether it shows more than ASCII. */
  readonly isUnicode: boolean;
}

/** These rows determine the widths; the others are written as they come. */
const rowsLookedAt = 1_000;
const leastColumns = 40;
const widestGroup = 40;

/** A table whose lines fit the screen: the least important columns are dropped. */
export async function* tableOf(report: StreamedReport, screen: Screen): Texts {
  const { by, from, to, tz } = report;
  yield `${cut(`${timeText(from, tz)} to ${timeText(to, tz)}, ${tz}`, screen)}\n`;
  const first: RowView[] = [];
  let layout: Layout | null = null;
  const lineOf = (row: RowView, laidOut: Layout): string =>
    line(cellsOf(row, by), row, laidOut, screen);
  function* begin(): Iterable<string> {
    const laidOut = (layout = layOut(first, by, screen));
    yield head(laidOut, by, screen);
    for (const row of first) yield lineOf(row, laidOut);
  }
  for await (const row of report.rows) {
    if (layout) {
      yield lineOf(row, layout);
      continue;
    }
    first.push(row);
    if (first.length === rowsLookedAt) yield* begin();
  }
  if (layout) return;
  if (first.length > 0) yield* begin();
  else yield "There is nothing to report.\n";
}

interface Layout {
  readonly groupWidths: readonly number[];
  readonly figures: readonly FigureColumn[];
}

function layOut(rows: readonly RowView[], by: readonly ReportField[], { columns }: Screen): Layout {
  const widths = by.map((field) =>
    rows.reduce(
      (widest, row) => Math.max(widest, textWidth(cellOf(row, field))),
      textWidth(title(field)),
    ),
  );
  const groupWidths = widths.map((width) => Math.min(width, widestGroup));
  if (columns === undefined) return { groupWidths, figures: figureColumns };
  const room = Math.max(columns, leastColumns);
  // Labels may take two thirds: without figures a row is of no use.
  shrink(groupWidths, Math.floor((room * 2) / 3));
  const labelWidth = groupWidths.reduce((sum, width) => sum + width + gap.length, -gap.length);
  return { groupWidths, figures: fittingColumns(labelWidth, room) };
}

/** Narrows the widest until all fit. */
function shrink(widths: number[], room: number): void {
  const gaps = (widths.length - 1) * gap.length;
  while (widths.reduce((sum, width) => sum + width, gaps) > room) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= 4) return;
    widths[widest] = width - 1;
  }
}

const gap = "  ";

function title(field: ReportField): string {
  return field === "server_name" ? "name" : field;
}

function cellsOf(row: RowView, by: readonly ReportField[]): readonly string[] {
  return by.map((field) => cellOf(row, field));
}

function cellOf(row: RowView, field: ReportField): string {
  const text = row[field] ?? "";
  const shown = field === "server" || field === "sandbox" ? shortId(text) : text;
  return shown === "" ? "-" : printable(shown);
}

function head(
  { groupWidths, figures }: Layout,
  by: readonly ReportField[],
  screen: Screen,
): string {
  const titles = figures.map((column) => pad(column.title, column));
  return joined(
    [...by.map((field, index) => fit(title(field), groupWidths[index])), ...titles],
    screen,
  );
}

function line(
  cells: readonly string[],
  row: RowView,
  { groupWidths, figures }: Layout,
  screen: Screen,
): string {
  const groups = cells.map((cell, index) => fit(cell, groupWidths[index]));
  const shown = figures.map((column) => pad(column.text(row, screen.isUnicode), column));
  return joined([...groups, ...shown], screen);
}

function joined(cells: readonly string[], screen: Screen): string {
  return `${cut(cells.join(gap).trimEnd(), screen)}\n`;
}

function cut(text: string, { columns, isUnicode }: Screen): string {
  const room = columns === undefined ? undefined : Math.max(columns, leastColumns);
  const short = cutToWidth(text, room);
  return isUnicode ? short : ascii(short);
}

function fit(cell: string, width = 0): string {
  const text = cutToWidth(cell, width);
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

function pad(text: string, { width, isLeft }: FigureColumn): string {
  return isLeft ? text.padEnd(width) : text.padStart(width);
}

/** Names may contain anything: what an ASCII screen cannot show becomes a question mark. */
function ascii(text: string): string {
  return text.replaceAll(/[^\n\x20-\x7e]/gu, (character) => "?".repeat(textWidth(character)));
}

/** The local time of a zone, without zeros that it does not need. */
function timeText(iso: string, tz: string): string {
  const zone = openZone(tz) ?? utc;
  const atMs = Date.parse(iso);
  const local = new Date(toLocal(zone, atMs)).toISOString().replace(/(:00)?\.000Z$|Z$/, "");
  return local + offsetText(zone, atMs);
}
