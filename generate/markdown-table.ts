/** A table as the formatter leaves it: each column as wide as its widest cell. The header comes first. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`;
  const [header = [], ...body] = cells;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  return line(header) + rule + body.map(line).join("");
}
