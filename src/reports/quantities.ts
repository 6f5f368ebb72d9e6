import { formatDuration } from "../fleet/text.ts";
import type { ForecastReason } from "./forecast.ts";
import type { Standing } from "./outlook.ts";

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

interface Peaks {
  readonly occupied_peak: number | null;
  readonly occupied_peak_exact: boolean | null;
  readonly headroom: number | null;
}

export function peakText(
  { occupied_peak, occupied_peak_exact }: Peaks,
  isUnicode: boolean,
): string {
  const most = isUnicode ? "≤" : "<=";
  return `${occupied_peak_exact === false ? most : ""}${countText(occupied_peak)}`;
}

export function headroomText({ headroom, occupied_peak_exact }: Peaks, isUnicode: boolean): string {
  const least = isUnicode ? "≥" : ">=";
  return `${occupied_peak_exact === false ? least : ""}${countText(headroom)}`;
}

/** The mean length of recoveries, or a bound of it where some were not observed. */
export function recoveryText(
  { recovery_mean_seconds: most, recovery_mean_least_seconds: least }: Recoveries,
  isUnicode: boolean,
): string {
  const bound = isUnicode ? "≤" : "<=";
  return `${least === most ? "" : bound}${durationText(most)}`;
}

interface DwellFields {
  readonly stay_median_seconds: number | null;
  readonly stay_median_least_seconds: number | null;
  readonly stay_median_most_seconds: number | null;
  readonly stay_p95_seconds: number | null;
  readonly stay_p95_least_seconds: number | null;
  readonly stay_p95_most_seconds: number | null;
}

/** Seconds of a dwell time, and its bounds; both are the same where it is exact. */
export function dwellOf(row: DwellFields, which: "median" | "p95") {
  return {
    seconds: row[`stay_${which}_seconds`],
    least: row[`stay_${which}_least_seconds`],
    most: row[`stay_${which}_most_seconds`],
  };
}

export function dwellText(
  { seconds, least, most }: ReturnType<typeof dwellOf>,
  isUnicode: boolean,
): string {
  const about = isUnicode ? "≈" : "~";
  return `${least === most ? "" : about}${durationText(seconds)}`;
}

/** The bounds of a dwell time. Null: it is exact, or there is none. */
export function dwellBoundsText({ least, most }: ReturnType<typeof dwellOf>): string | null {
  if (least === most) return null;
  return most === null
    ? `over ${durationText(least)}`
    : `${durationText(least)} to ${durationText(most)}`;
}

interface Recoveries {
  readonly recovery_mean_seconds: number | null;
  readonly recovery_mean_least_seconds: number | null;
}

const reasons: Readonly<Record<ForecastReason, string>> = {
  too_little: "unknown: too few weeks observed",
  passed_already: "already",
  no_rise: "no significant rise",
  step: "no rise since a step",
  recent: "unknown: rose recently",
  too_far: "not within 12 weeks",
};

export function forecastDateText({
  passes_at: passesAt,
  reason,
}: {
  readonly passes_at: string | null;
  readonly reason: ForecastReason | null;
}): string {
  return reason === null ? `around ${passesAt?.slice(0, 10)}` : reasons[reason];
}

const shortReasons: Readonly<Record<ForecastReason, string>> = {
  too_little: "unknown",
  passed_already: "already",
  no_rise: "no rise",
  step: "no rise",
  recent: "rose recently",
  too_far: "> 12 weeks",
};

/** When a pool runs out, in a word. */
export function runsOutText({
  standing,
  peak_passes_at: passes_at,
  peak_reason: reason,
}: {
  readonly standing: Standing;
  readonly peak_passes_at: string | null;
  readonly peak_reason: ForecastReason | null;
}): string {
  if (standing === "full") return "already";
  if (standing === "perhaps_full") return "perhaps already";
  if (standing === "single" || standing === "unknown") return standing;
  return reason === null ? (passes_at?.slice(0, 10) ?? "-") : shortReasons[reason];
}

/** How long none was idle in a range. Where nothing was observed, that is not known. */
export function noIdleText({
  no_idle_seconds: seconds,
  observed_seconds: observed,
}: {
  readonly no_idle_seconds: number;
  readonly observed_seconds: number;
}): string {
  return durationText(observed === 0 ? null : seconds);
}

/** Such as `+2.0`, in percentage points. */
export function riseText(rise: number | null): string {
  if (rise === null) return "-";
  return `${rise < 0 ? "-" : "+"}${(Math.abs(rise) * 100).toFixed(1)}`;
}

/** How many would have been needed for 99 % of the time. */
export function neededText({
  needed_servers: servers,
  needed_more: isMore,
}: {
  readonly needed_servers: number | null;
  readonly needed_more: boolean;
}): string {
  return isMore ? "more" : countText(servers);
}
