import { counted } from "../fleet/text.ts";
import { shownName } from "../fleet/text.ts";
import { countText, headroomText, peakText, shareText } from "./quantities.ts";
import { toLocal, type Zone } from "./zone.ts";

/** A row of a report, under the names of the API. */
interface Figures {
  readonly region?: string | undefined;
  readonly key?: string | undefined;
  readonly server_name?: string | undefined;
  readonly occupied_share: number | null;
  readonly error_share: number | null;
  readonly coverage: number | null;
  readonly occupied_peak: number | null;
  readonly occupied_peak_exact: boolean | null;
  readonly servers_peak: number | null;
  readonly headroom: number | null;
  readonly incidents: number;
}

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
