import { eastAsianWidth } from "get-east-asian-width";
import { printableLine } from "../lib/printable.ts";

export type Cell = string | number | boolean | null | undefined;

/** By the titles of the columns, the field that each shows, or how it is computed. */
export type Columns<Item> = Readonly<Record<string, FieldOf<Item> | ((item: Item) => Cell)>>;

type FieldOf<Item> = {
  [Field in keyof Item]: Item[Field] extends Cell ? Field : never;
}[keyof Item];

/** Aligned columns for a terminal, whose lines have at most the width. */
export function renderTable<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  width?: number,
): string {
  return createGrowingTable(columns, width)(items);
}

/** A table whose rows come over time: the first ones with the header, and each column as wide as needed so far. */
export function createGrowingTable<Item>(
  columns: Columns<Item>,
  width?: number,
): (items: readonly Item[]) => string {
  let pending = [Object.keys(columns)];
  let widths = pending[0]?.map(() => 0) ?? [];
  return (items) => {
    const lines = [...pending, ...items.map((item) => cellsOf(item, columns))];
    pending = [];
    widths = widths.map((before, column) =>
      lines.reduce((widest, cells) => Math.max(widest, textWidth(cells[column] ?? "")), before),
    );
    return lines
      .map((cells) => cells.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  "))
      .map((line) => `${cutToWidth(line.trimEnd(), width)}\n`)
      .join("");
  };
}

function cellsOf<Item>(item: Item, columns: Columns<Item>): string[] {
  return Object.values(columns).map((column) => {
    const value: unknown = typeof column === "function" ? column(item) : item[column];
    if (typeof value === "string") return printableLine(value);
    return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
  });
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - textWidth(cell)));
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

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Enough of a UUID to find it. Other ids may all begin alike. */
export function shortId(id: string): string {
  return uuid.test(id) ? id.slice(0, 8) : id;
}
