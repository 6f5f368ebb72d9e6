import { groupText, type RowView } from "../../api/operations/occupancy.ts";
import { averageText, bar, countText, durationText, shareText } from "../../reports/quantities.ts";
import { headroomText, peakText, recoveryText, dwellOf, dwellText } from "../../api/figures.ts";
import { localText } from "../../reports/zone.ts";
import { withShortIds } from "../../fleet/text.ts";
import { printableLine } from "../../lib/printable.ts";
import { lookOf } from "../look.ts";
import { createGrowingTable, cutToWidth, textWidth } from "../table.ts";
import type { Columns } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import type { StreamedReport, Texts } from "./json-csv.ts";

/** These are in memory at a time, and share the widths of columns. */
const rowsAtOnce = 1_000;
const leastColumns = 40;
const widestLabel = 40;
const leastLabel = 4;

/** A table whose lines fit the screen: the least important columns are dropped. */
export async function* tableOf(report: StreamedReport, screen: Terminal): Texts {
  const { by, from, to, tz } = report;
  const { isUnicode = false } = screen;
  // What makes a text ASCII would take its colours for characters.
  const look = lookOf({ ...screen, isColored: isUnicode && screen.isColored === true });
  const width = Math.max(look.width ?? Number.POSITIVE_INFINITY, leastColumns);
  const shown = (text: string): string => (isUnicode ? text : ascii(text));
  yield shown(`${cutToWidth(`${localText(from, tz)} to ${localText(to, tz)}, ${tz}`, width)}\n`);

  let table: ((rows: readonly RowView[]) => string) | null = null;
  const render = (rows: readonly RowView[]): string => {
    table ??= createGrowingTable(columnsFor(rows, by, width, isUnicode), { ...look, width });
    return shown(table(rows));
  };
  let rows: RowView[] = [];
  for await (const row of report.rows) {
    rows.push(row);
    if (rows.length < rowsAtOnce) continue;
    yield render(rows);
    rows = [];
  }
  if (rows.length > 0) yield render(rows);
  else if (!table) yield "There is nothing to report.\n";
}

/** Title, width and text of the columns of figures, the most important ones first. No text is wider. */
type Figure = readonly [string, number, (row: RowView, isUnicode: boolean) => string];

const figures: readonly Figure[] = [
  ["occupied  ", 10, (row, isUnicode) => bar(row.occupied_share, 10, isUnicode)],
  ["", 6, (row) => shareText(row.occupied_share)],
  ["unobserved", 10, (row) => shareText(row.unobserved_share)],
  ["error", 6, (row) => shareText(row.error_share)],
  ["idle", 6, (row) => shareText(row.idle_share)],
  ["avg", 5, (row) => averageText(row.occupied_average)],
  ["peak", 6, peakText],
  ["servers", 7, (row) => averageText(row.servers_average)],
  ["headroom", 8, headroomText],
  ["incid.", 6, (row) => countText(row.incidents)],
  ["stays", 6, (row) => countText(row.stays)],
  ["median", 7, (row, isUnicode) => dwellText(dwellOf(row, "median"), isUnicode)],
  ["p95", 7, (row, isUnicode) => dwellText(dwellOf(row, "p95"), isUnicode)],
  ["in error", 8, (row) => durationText(row.error_seconds)],
  ["unknown", 7, (row) => shareText(row.unknown_share)],
  ["mean", 7, (row) => durationText(row.stay_mean_seconds)],
  ["recover", 8, recoveryText],
];

/** The labels, and as many figures as fit beside those of the first rows. */
function columnsFor(
  rows: readonly RowView[],
  by: readonly string[],
  width: number,
  isUnicode: boolean,
): Columns<RowView> {
  const isLimited = Number.isFinite(width);
  const labels = by.map((field) => {
    const title = field === "server_name" ? "name" : field;
    const text = (row: RowView): string => labelOf(row, field, isLimited);
    return { title, text, width: Math.max(...rows.map((row) => textWidth(text(row)))) };
  });
  const usedWith = (most: number): number =>
    labels.reduce(
      (sum, { title, width: own }) => sum + gap + Math.max(textWidth(title), Math.min(own, most)),
      -gap,
    );
  // Labels may take two thirds: without figures a row is of no use. The longest are cut first.
  let widest = isLimited ? widestLabel : Number.POSITIVE_INFINITY;
  while (widest > leastLabel && usedWith(widest) > (width * 2) / 3) widest -= 1;
  const columns: Record<string, (row: RowView) => string> = {};
  for (const { title, text } of labels) columns[title] = (row) => cutToWidth(text(row), widest);
  let used = usedWith(widest);
  for (const [title, figureWidth, text] of figures) {
    used += gap + figureWidth;
    if (used > width) break;
    columns[title.padStart(figureWidth)] = (row) => text(row, isUnicode).padStart(figureWidth);
  }
  return columns;
}

const gap = 2;

function labelOf(row: RowView, field: string, isShort = true): string {
  const text = groupText(row, field);
  const isId = field === "server" || field === "sandbox";
  return printableLine(isShort && isId ? withShortIds(text) : text);
}

/** Names may contain anything: what an ASCII screen cannot show becomes question marks. */
function ascii(text: string): string {
  return text.replaceAll(/[^\n\x20-\x7e]/gu, (character) => "?".repeat(textWidth(character)));
}
