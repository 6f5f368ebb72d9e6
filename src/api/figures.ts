import type { ForecastReason } from "../reports/forecast.ts";
import { countText, durationText, shareText } from "../reports/quantities.ts";
import { toLocal, type Zone } from "../reports/zone.ts";
import { counted, shownName } from "../fleet/text.ts";
import type { RowView } from "./operations/occupancy.ts";
import type { OutlookView } from "./operations/outlook.ts";

/** Figures of rows and outlooks as people read them, short enough for the columns of a table. */

type OutlookFields = OutlookView["all"];
type Peaks = Pick<RowView, "occupied_peak" | "occupied_peak_exact" | "headroom">;
type DwellFields = Pick<RowView, `stay_${"median" | "p95"}_${"" | "least_" | "most_"}seconds`>;

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
  { recovery_mean_seconds: most, recovery_mean_least_seconds: least }: RowView,
  isUnicode: boolean,
): string {
  const bound = isUnicode ? "≤" : "<=";
  return `${least === most ? "" : bound}${durationText(most)}`;
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

const reasons: Readonly<Record<ForecastReason, string>> = {
  too_little: "unknown: too few weeks observed",
  passed_already: "already",
  no_rise: "no significant rise",
  step: "no rise since a step",
  recent: "unknown: rose recently",
  too_far: "not within 12 weeks",
};

export function forecastDateText({ passes_at: passesAt, reason }: OutlookFields): string {
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
export function runsOutText({ standing, peak_passes_at, peak_reason }: OutlookFields): string {
  if (standing === "full") return "already";
  if (standing === "perhaps_full") return "perhaps already";
  if (standing === "single" || standing === "unknown") return standing;
  return peak_reason === null ? (peak_passes_at?.slice(0, 10) ?? "-") : shortReasons[peak_reason];
}

/** How long none was idle in a range. Where nothing was observed, that is not known. */
export function noIdleText({ no_idle_seconds, observed_seconds }: OutlookFields): string {
  return durationText(observed_seconds === 0 ? null : no_idle_seconds);
}

/** How many would have been needed for 99 % of the time. */
export function neededText({ needed_servers, needed_more }: OutlookFields): string {
  return needed_more ? "more" : countText(needed_servers);
}

type Figures = Peaks &
  Pick<
    RowView,
    | ("region" | "key" | "server_name")
    | ("occupied_share" | "error_share" | "coverage" | "servers_peak" | "incidents")
  >;

/** Such as "weekly, 2026-11-16 to 2026-11-22 (Europe/Berlin): 41.2% occupied; peak 96 of 150 servers, headroom 54; …". */
export function reportSummary(
  name: string,
  range: { readonly from: string; readonly to: string },
  zone: Zone,
  total: Figures | null,
): string {
  const figures = total === null ? "no servers to report" : figuresText(total);
  return `${name}, ${rangeText(range, zone)}: ${figures}`;
}

/** Such as "us/research: 71.3% occupied; …". */
export function reportLine(row: Figures): string {
  const place = [row.region, row.key].filter((part) => part !== undefined).join("/");
  const name = row.server_name === undefined ? "" : shownName(row.server_name || "-");
  const label = [name, place].filter((part) => part !== "").join(" in ");
  return `${label}: ${figuresText(row)}`;
}

function figuresText(row: Figures): string {
  const { occupied_share: occupied, error_share: error, coverage, servers_peak: servers } = row;
  const incidents = counted(row.incidents, "incident");
  if (occupied === null) return `nothing observed; ${incidents}`;
  return [
    `${shareText(occupied)} occupied`,
    `peak ${peakText(row, true)} of ${countText(servers)} servers, headroom ${headroomText(row, true)}`,
    `${shareText(error)} in error, ${incidents}`,
    `coverage ${shareText(coverage)}`,
  ].join("; ");
}

const dayMs = 24 * 60 * 60_000;

/** Whole days of the zone as dates, the last one included; other ranges with times, to the minute. */
function rangeText({ from, to }: { readonly from: string; readonly to: string }, zone: Zone) {
  const [fromMs, toMs] = [toLocal(zone, Date.parse(from)), toLocal(zone, Date.parse(to))];
  const isDays = fromMs % dayMs === 0 && toMs % dayMs === 0;
  const textOf = (ms: number): string => new Date(ms).toISOString().slice(0, isDays ? 10 : 16);
  const [first, last] = [textOf(fromMs), textOf(isDays ? toMs - 1 : toMs)];
  const range = first === last ? first : `${first} to ${last}`;
  return `${range.replaceAll("T", " ")} (${zone.name})`;
}
