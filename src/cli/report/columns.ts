import type { RowView } from "../../api/operations/occupancy.ts";
import { averageText, bar, countText, durationText, shareText } from "./quantities.ts";

/** A column of figures. */
export interface FigureColumn {
  readonly title: string;
  /** Of the terminal. No text is wider. */
  readonly width: number;
  /** Columns of the highest rank are dropped first when not all fit. */
  readonly rank: number;
  readonly isLeft?: true;
  readonly text: (row: RowView, isUnicode: boolean) => string;
}

const barWidth = 10;

/** In the order in which they are shown. */
export const figureColumns: readonly FigureColumn[] = [
  {
    title: "occupied",
    width: barWidth,
    rank: 2,
    isLeft: true,
    text: (row, isUnicode) => bar(row.occupied_share, barWidth, isUnicode),
  },
  { title: "", width: 6, rank: 0, text: (row) => shareText(row.occupied_share) },
  { title: "idle", width: 6, rank: 3, text: (row) => shareText(row.idle_share) },
  { title: "error", width: 6, rank: 1, text: (row) => shareText(row.error_share) },
  { title: "unknown", width: 7, rank: 12, text: (row) => shareText(row.unknown_share) },
  { title: "unseen", width: 6, rank: 4, text: (row) => shareText(row.unobserved_share) },
  { title: "avg", width: 5, rank: 5, text: (row) => averageText(row.occupied_average) },
  { title: "peak", width: 6, rank: 6, text: peakText },
  { title: "stays", width: 6, rank: 8, text: (row) => countText(row.stays) },
  { title: "mean", width: 6, rank: 13, text: (row) => durationText(row.stay_mean_seconds) },
  { title: "median", width: 6, rank: 9, text: (row) => durationText(row.stay_median_seconds) },
  { title: "p95", width: 6, rank: 10, text: (row) => durationText(row.stay_p95_seconds) },
  { title: "incid.", width: 6, rank: 7, text: (row) => countText(row.incidents) },
  { title: "in error", width: 8, rank: 11, text: (row) => durationText(row.error_seconds) },
  { title: "recover", width: 7, rank: 14, text: (row) => durationText(row.recovery_mean_seconds) },
];

function peakText({ occupied_peak, occupied_peak_exact }: RowView, isUnicode: boolean): string {
  const most = isUnicode ? "≤" : "<=";
  const mark = occupied_peak_exact === false ? most : "";
  return `${mark}${countText(occupied_peak)}`;
}

const gap = 2;

/** The most important columns that fit beside the labels. */
export function fittingColumns(labelWidth: number, columns: number): readonly FigureColumn[] {
  let left = columns - labelWidth;
  const chosen = new Set<FigureColumn>();
  for (const column of figureColumns.toSorted((one, other) => one.rank - other.rank)) {
    const width = column.width + gap;
    if (width > left) break;
    left -= width;
    chosen.add(column);
  }
  return figureColumns.filter((column) => chosen.has(column));
}
