import { stripVTControlCharacters } from "node:util";
import { eastAsianWidth } from "get-east-asian-width";
import { withShortIds } from "../fleet/text.ts";
import { printableLine } from "../lib/printable.ts";
import type { Color, Look } from "./look.ts";

type Plain = string | number | boolean | null | undefined;

interface Colored {
  readonly text: string;
  readonly color?: Color | undefined;
  /** What says less in less space, the longest first: used in place of a text that would be cut. */
  readonly shorter?: readonly string[] | undefined;
}

export type Cell = Plain | Colored;

/** By the titles of the columns, the field that each shows, or how it is computed. */
export type Columns<Item> = Readonly<
  Record<string, FieldOf<Item> | ((item: Item, look: Look) => Cell)>
>;

type FieldOf<Item> = {
  [Field in keyof Item]: Item[Field] extends Plain ? Field : never;
}[keyof Item];

/**
 * Columns that a table goes without where it does not fit, the first ones first, each beside the column by which its rows are
 * known; null: whatever that is.
 */
const dispensable: ReadonlyMap<string, string | null> = new Map([
  ["benchmark", null],
  ["created", null],
  ["attempts", null],
  ["seconds", null],
  ["unknown", null],
  ["sandbox", "server"],
  ["severity", "rule"],
  ["started", "resolved"],
  ["made", null],
  ["stayed", null],
  ["idle", "target"],
  ["unobserved", "target"],
  ["servers", "sandbox"],
]);

/** A column that is cut to this still says what it is about. */
const comfortableWidth = 28;

/**
 * Aligned columns. Where lines are limited, empty columns are omitted, then those that say least, and the widest ones are
 * cut.
 */
export function renderTable<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  look: Look,
): string {
  if (look.width === undefined) return createGrowingTable(columns, look)(items);
  const rows = items.map((item) => rowOf(item, columns, look));
  const filled = Object.entries(columns).filter((_, column) =>
    rows.some((row) => row[column]?.text !== ""),
  );
  const titles = Object.keys(columns);
  const widths = new Map(
    filled.map(([title]) => {
      const texts = rows.map((row) => withShortIds(row[titles.indexOf(title)]?.text ?? ""));
      const widest = Math.max(...[title, ...texts].map(textWidth));
      return [title, Math.min(widest, comfortableWidth)] as const;
    }),
  );
  for (const [title, beside] of dispensable) {
    if (totalOf([...widths.values()]) <= look.width) break;
    if (beside === null || widths.has(beside)) widths.delete(title);
  }
  const shown = filled.filter(([title]) => widths.has(title));
  return createGrowingTable(Object.fromEntries(shown), look)(items);
}

/** Sentences in lines that end between words. */
export function wrapText(text: string, width: number = Number.POSITIVE_INFINITY): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const longer = last === undefined ? word : `${last} ${word}`;
    const fits = textWidth(stripVTControlCharacters(longer)) <= width;
    if (last !== undefined && fits) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join("\n");
}

type Row = readonly Colored[];

/** A table whose rows come over time: the first ones with the header, and each column as wide as needed so far. */
export function createGrowingTable<Item>(
  columns: Columns<Item>,
  look: Look,
): (items: readonly Item[]) => string {
  const titles = Object.keys(columns);
  let header: readonly Row[] = [titles.map((text) => ({ text, color: "bold" }))];
  let widths: readonly number[] = titles.map(() => 0);
  let leastWidths: readonly number[] = widths;
  return (items) => {
    const rows = [...header, ...items.map((item) => rowOf(item, columns, look))];
    header = [];
    const isTooWide = totalOf(widened(widths, rows)) > (look.width ?? Number.POSITIVE_INFINITY);
    const shown = isTooWide ? rows.map(shortened) : rows;
    widths = widened(widths, shown);
    leastWidths = widened(leastWidths, shown, leastText);
    const fitting = fitted(widths, leastWidths, look.width);
    return shown.map((row) => lineText(row, fitting, look)).join("");
  };
}

function rowOf<Item>(item: Item, columns: Columns<Item>, look: Look): Row {
  return Object.values(columns).map((column) => {
    const cell: unknown = typeof column === "function" ? column(item, look) : item[column];
    if (isColored(cell)) {
      return { ...cell, text: printableLine(cell.text), shorter: cell.shorter?.map(printableLine) };
    }
    return { text: plainText(cell) };
  });
}

function isColored(cell: unknown): cell is Colored {
  return typeof cell === "object" && cell !== null;
}

function plainText(cell: unknown): string {
  if (typeof cell === "string") return printableLine(cell);
  return typeof cell === "number" || typeof cell === "boolean" ? String(cell) : "";
}

function shortened(row: Row): Row {
  return row.map((cell) => {
    return { ...cell, text: withShortIds(cell.text), shorter: cell.shorter?.map(withShortIds) };
  });
}

const gap = "  ";

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + gap.length + width, -gap.length);
}

/** @param partOf the part of a cell's text that counts */
function widened(
  widths: readonly number[],
  rows: readonly Row[],
  partOf = ({ text }: Colored): string => text,
): readonly number[] {
  return widths.map((before, column) =>
    rows.reduce(
      (widest, row) => Math.max(widest, textWidth(partOf(row[column] ?? { text: "" }))),
      before,
    ),
  );
}

const exactTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** What of a cell is not cut: its shortest text, all of an exact time, and eight characters of others, such as a shortened id. */
function leastText({ text, shorter }: Colored): string {
  const shortest = shorter?.at(-1);
  if (shortest !== undefined) return cutToWidth(shortest, comfortableWidth);
  return exactTime.test(text) ? text : cutToWidth(text, 8);
}

function fittingText({ text, shorter = [] }: Colored, width: number | undefined): string {
  const fits = [text, ...shorter].find((each) => textWidth(each) <= (width ?? Infinity));
  return fits ?? cutToWidth(text, width);
}

/** The widest columns become narrower, until all fit or none can. */
function fitted(
  widths: readonly number[],
  leastWidths: readonly number[],
  total = Number.POSITIVE_INFINITY,
): readonly number[] {
  const fitting = [...widths];
  for (let excess = totalOf(widths) - total; excess > 0; excess -= 1) {
    const slack = fitting.map((width, column) => (width > (leastWidths[column] ?? 0) ? width : 0));
    const widest = Math.max(...slack);
    if (widest === 0) break;
    fitting[slack.lastIndexOf(widest)] = widest - 1;
  }
  return fitting;
}

function lineText(row: Row, widths: readonly number[], { width, paint }: Look): string {
  const texts = row.map((cell, column) => fittingText(cell, widths[column]));
  const after = texts.map((text, column) =>
    " ".repeat(Math.max(0, (widths[column] ?? 0) - textWidth(text))),
  );
  const plain = texts
    .map((text, column) => `${text}${after[column]}`)
    .join(gap)
    .trimEnd();
  const line = cutToWidth(plain, width);
  if (line !== plain) return `${line}\n`;
  const painted = row.map(({ color }, column) => {
    const text = texts[column] ?? "";
    return `${color === undefined ? text : paint(color, text)}${after[column]}`;
  });
  return `${painted.join(gap).trimEnd()}\n`;
}

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Combining characters are drawn over the one before. */
function characterWidth(character: string): number {
  if (/[\p{Mn}\p{Me}]/u.test(character)) return 0;
  return eastAsianWidth(character.codePointAt(0) ?? 0);
}

/** The text, or as much of it as fits, with an ellipsis. */
export function cutToWidth(text: string, width: number = Number.POSITIVE_INFINITY): string {
  if (textWidth(text) <= width) return text;
  let kept = "";
  let left = width - 1;
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}
