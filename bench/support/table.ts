import type { Result } from "./result.ts";

const headings = ["scenario", "what", "floor", "value", "min..max", "target", "met"];

/** One line a result, in columns. Floors that stand in a plot of their own have none here. */
export function formatTable(results: readonly Result[]): string {
  const rows = [headings, ...results.filter(({ plot }) => !plot?.isFloor).map(rowOf)];
  const widths = headings.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [lines[0], rule, ...lines.slice(1)].map((line) => `${line}\n`).join("");
}

function rowOf({ scenario, what, unit, value, floor, target, atLeast, met }: Result): string[] {
  return [
    scenario,
    what,
    floor ? `${floor.what} ${formatNumber(floor.value.median)} ${floor.unit}` : "",
    value ? `${formatNumber(value.median)} ${unit}` : "not measured",
    value ? `${formatNumber(value.min)}..${formatNumber(value.max)}` : "",
    target === null ? "" : `${atLeast ? ">=" : "<="} ${formatNumber(target)} ${unit}`,
    met === null ? "" : met ? "yes" : "NO",
  ];
}

/** Three figures that count, and thousands in groups. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  if (size >= 10) return value.toFixed(1);
  return size >= 1 || size === 0 ? value.toFixed(2) : value.toFixed(3);
}
