import { cutToWidth, textWidth } from "./text-width.ts";

/**
 * Aligned columns for a terminal.
 *
 * @param columns how many characters a line may have; left out: any number
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns?: number,
): string {
  const lines = [header, ...rows].map((cells) => cells.map(printable));
  const widths = header.map((_, column) =>
    lines.reduce((widest, cells) => Math.max(widest, textWidth(cells[column] ?? "")), 0),
  );
  return lines
    .map((cells) => cells.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  "))
    .map((line) => `${cutToWidth(line.trimEnd(), columns)}\n`)
    .join("");
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - textWidth(cell)));
}

/** Text from outside as one visible line: it can not move the cursor or fake another line. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
