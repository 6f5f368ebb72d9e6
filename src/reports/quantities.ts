import { formatDuration } from "../fleet/text.ts";

/** Figures of a report, short enough for the columns of a table. */

export function shareText(share: number | null): string {
  if (share === null) return "-";
  const percent = share * 100;
  // A small share is not 0 %, and almost all is not 100 %.
  if (percent > 0 && percent < 0.1) return "<0.1%";
  return percent < 100 && percent > 99.9 ? ">99.9%" : `${percent.toFixed(1)}%`;
}

const compact = new Intl.NumberFormat("en", { notation: "compact" });

export function countText(count: number | null): string {
  if (count === null) return "-";
  return count < 10_000 ? String(count) : compact.format(count);
}

export function averageText(average: number | null): string {
  if (average === null) return "-";
  return average < 1_000 ? average.toFixed(average < 10 ? 2 : 1) : countText(Math.round(average));
}

/** The two largest units, such as `3d4h`; below ten seconds with a tenth. */
export function durationText(seconds: number | null): string {
  if (seconds === null) return "-";
  if (seconds > 0 && seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const text = formatDuration(Math.round(seconds) * 1_000);
  return /^(?:\d+[dhms]){1,2}/.exec(text)?.[0] ?? text;
}

/** A share as a bar. A small one is still visible. */
export function bar(share: number | null, columns: number, isUnicode: boolean): string {
  const length = Math.ceil(Math.min(1, share ?? 0) * columns);
  return isUnicode ? "█".repeat(length).padEnd(columns) : "#".repeat(length).padEnd(columns, ".");
}

/** Such as `+2.0`, in percentage points. */
export function riseText(rise: number | null): string {
  if (rise === null) return "-";
  return `${rise < 0 ? "-" : "+"}${(Math.abs(rise) * 100).toFixed(1)}`;
}
