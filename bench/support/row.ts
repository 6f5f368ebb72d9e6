import { summarize } from "./stats.ts";
import type { Summary } from "./stats.ts";

/** One line of the table, as it was measured. */
export interface Measurement {
  readonly what: string;
  /** `x` is a ratio, to the floor. */
  readonly unit: string;
  readonly samples: readonly number[];
  /** What the samples are held against. */
  readonly floor?: {
    readonly what: string;
    readonly unit: string;
    readonly samples: readonly number[];
  };
  /** The median is to be at most this, or at least where `atLeast` says so. Without it the line explains another. */
  readonly budget?: number;
  readonly atLeast?: boolean;
}

/** The same, judged by its budget. */
export interface Row {
  readonly scenario: string;
  readonly what: string;
  readonly unit: string;
  readonly value: Summary;
  readonly floor: { readonly what: string; readonly unit: string; readonly value: Summary } | null;
  readonly budget: number | null;
  readonly atLeast: boolean;
  readonly met: boolean | null;
  readonly samples: readonly number[];
}

export function toRow(scenario: string, measurement: Measurement): Row {
  const { what, unit, samples, floor, budget = null, atLeast = false } = measurement;
  const value = summarize(samples);
  const { median } = value;
  return {
    scenario,
    what,
    unit,
    value,
    floor: floor ? { what: floor.what, unit: floor.unit, value: summarize(floor.samples) } : null,
    budget,
    atLeast,
    met: budget === null ? null : atLeast ? median >= budget : median <= budget,
    samples,
  };
}

const headings = ["scenario", "what", "measured", "min..max", "budget", "met", "floor"];

/** One line a row, in columns. */
export function formatTable(rows: readonly Row[]): string {
  const lines = [headings, ...rows.map(cellsOf)];
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((cells) => (cells[column] ?? "").length)),
  );
  const rule = widths.map((width) => "-".repeat(width));
  return [headings, rule, ...lines.slice(1)]
    .map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

function cellsOf({ scenario, what, unit, value, floor, budget, atLeast, met }: Row): string[] {
  return [
    scenario,
    what,
    `${formatNumber(value.median)} ${unit}`,
    value.min === value.max ? "" : `${formatNumber(value.min)}..${formatNumber(value.max)}`,
    budget === null ? "" : `${atLeast ? ">=" : "<="} ${formatNumber(budget)}`,
    met === null ? "" : met ? "yes" : "NO",
    floor ? `${floor.what} ${formatNumber(floor.value.median)} ${floor.unit}` : "",
  ];
}

/** Three figures that count, and thousands in groups. */
function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  if (Number.isInteger(value)) return String(value);
  if (size >= 10) return value.toFixed(1);
  return size >= 1 ? value.toFixed(2) : value.toFixed(3);
}

export interface Scenario {
  readonly name: string;
  /** @throws {Error} when the daemon does not do what it is measured at */
  run(options: { readonly quick: boolean }): Promise<readonly Measurement[]>;
}
