import { canonicalTimeZone, zoneOffset } from "../lib/zone-offset.ts";

/** A time zone of the IANA database, or a fixed offset such as `+05:30`. */
export interface Zone {
  readonly name: string;
  /** How far its clocks are before UTC at a moment. Milliseconds. */
  offsetMs(utcMs: number): number;
}

/** What a zone's clocks show, as if it were UTC: so dates are counted without any zone. Milliseconds. */
export type LocalMs = number;

export const utc: Zone = { name: "UTC", offsetMs: () => 0 };

/** @returns undefined when there is no such zone */
export function openZone(name: string): Zone | undefined {
  // Reading the list of zones is slow.
  if (name === utc.name) return utc;
  const timeZone = canonicalTimeZone(name);
  if (timeZone === null) return undefined;
  if (timeZone === utc.name) return utc;
  const offset = zoneOffset(timeZone);
  const known = new Map<number, number>();
  return {
    // As it was written: `Asia/Kolkata` is not to become `Asia/Calcutta`.
    name: timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name,
    offsetMs(utcMs) {
      // No zone changes its clocks within a quarter of an hour.
      const quarter = Math.floor(utcMs / quarterMs);
      const remembered = known.get(quarter);
      if (remembered !== undefined) return remembered;
      if (known.size >= mostKnown) known.clear();
      const found = offset(quarter * quarterMs);
      known.set(quarter, found);
      return found;
    },
  };
}

const quarterMs = 15 * 60_000;
const mostKnown = 10_000;

export function toLocal(zone: Zone, utcMs: number): LocalMs {
  return utcMs + zone.offsetMs(utcMs);
}

const dayMs = 24 * 60 * 60_000;

/**
 * When a zone's clocks show a time. Where they show it twice, the first of the two; where they leave it
 * out, as much later as they were set forward.
 */
export function toUtc(zone: Zone, localMs: LocalMs): number {
  const before = zone.offsetMs(localMs - dayMs);
  const after = zone.offsetMs(localMs + dayMs);
  const fits = [before, after]
    .map((offset) => localMs - offset)
    .filter((utcMs) => toLocal(zone, utcMs) === localMs);
  return fits.length > 0 ? Math.min(...fits) : localMs - before;
}

/** Such as `+05:30`; `Z` of UTC itself. */
export function offsetText(zone: Zone, utcMs: number): string {
  if (zone === utc) return "Z";
  const minutes = Math.round(zone.offsetMs(utcMs) / 60_000);
  const two = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** The local time of a zone, without zeros that it does not need. */
export function localText(iso: string, tz: string): string {
  const zone = openZone(tz) ?? utc;
  const atMs = Date.parse(iso);
  const local = new Date(toLocal(zone, atMs)).toISOString().replace(/(:00)?\.000Z$|Z$/, "");
  return local + offsetText(zone, atMs);
}
