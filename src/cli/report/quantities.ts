/** Figures of a report, short enough for the columns of a table. */

export function shareText(share: number | null): string {
  if (share === null) return "-";
  const percent = share * 100;
  // A small share is not 0 %, and almost all is not 100 %.
  if (percent > 0 && percent < 0.1) return "<0.1%";
  return percent < 100 && percent > 99.9 ? ">99.9%" : `${percent.toFixed(1)}%`;
}

export function countText(count: number | null): string {
  if (count === null) return "-";
  if (count < 10_000) return String(count);
  if (count < 1_000_000) return `${Math.floor(count / 1_000)}k`;
  return count < 1_000_000_000 ? `${Math.floor(count / 1_000_000)}M` : count.toExponential(1);
}

export function averageText(average: number | null): string {
  if (average === null) return "-";
  return average < 1_000 ? average.toFixed(average < 10 ? 2 : 1) : countText(Math.round(average));
}

const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** The two largest units: `3d4h`, `2h05m`, `45s`; below ten seconds with a tenth. */
export function durationText(seconds: number | null): string {
  if (seconds === null) return "-";
  if (seconds < 9.95) return seconds === 0 ? "0s" : `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const first = units.findIndex(([, size]) => whole >= size);
  const [unit, size] = units[first] ?? ["s", 1];
  const next = units[first + 1];
  const count = Math.floor(whole / size);
  if (count >= 100_000) return `>99999${unit}`;
  if (!next || count >= 100) return `${count}${unit}`;
  const rest = Math.floor((whole % size) / next[1]);
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${next[0]}`;
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** A share as a bar. */
export function bar(share: number | null, columns: number, isUnicode: boolean): string {
  const length = Math.min(1, Math.max(0, share ?? 0)) * columns;
  if (!isUnicode) return "#".repeat(Math.round(length)).padEnd(columns, ".");
  // A small share is still visible.
  const parts = length > 0 ? Math.max(1, Math.round(length * 8)) : 0;
  const whole = Math.floor(parts / 8);
  return ("█".repeat(whole) + (eighths[parts % 8] ?? "")).padEnd(columns);
}
