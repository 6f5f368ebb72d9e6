import { cutToWidth, textWidth } from "./text-width.ts";

/**
 * Aligned columns for a terminal.
 *
 * @param columns the width of a line. Default: unlimited
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns?: number,
): string {
  return createGrowingTable(header, columns)(rows);
}

/**
 * A table whose rows come over time: the first ones with the header, and each column as wide as needed so far.
 */
export function createGrowingTable(
  header: readonly string[],
  columns?: number,
): (rows: readonly (readonly string[])[]) => string {
  let pending = [header];
  let widths = header.map(() => 0);
  return (rows) => {
    const lines = [...pending, ...rows].map((cells) => cells.map(printable));
    pending = [];
    widths = widths.map((before, column) =>
      lines.reduce((widest, cells) => Math.max(widest, textWidth(cells[column] ?? "")), before),
    );
    return lines
      .map((cells) => cells.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  "))
      .map((line) => `${cutToWidth(line.trimEnd(), columns)}\n`)
      .join("");
  };
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - textWidth(cell)));
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Enough of a UUID to find it. Other ids may all begin alike. */
export function shortId(id: string): string {
  return uuid.test(id) ? id.slice(0, 8) : id;
}

/** Text from outside as one visible line, which cannot move the cursor or fake another line. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
