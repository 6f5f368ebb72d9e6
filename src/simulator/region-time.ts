import { identityOf, mix } from "./hash.ts";

const hourMs = 3_600_000;

/** The two deployments of the service; a region of another name gets an offset by hash. */
const knownOffsetHours: Readonly<Record<string, number>> = { us: -8, eu: 1 };

/** Hours that a region's local time is ahead of UTC. Whole, fixed: no summer time. */
export function offsetHoursOf(region: string): number {
  return knownOffsetHours[region] ?? (identityOf("offset", region)[0] % 23) - 11;
}

/**
 * As the service writes times, with microseconds and an offset: `2026-02-16T12:45:25.770231-08:00`.
 *
 * @param microsecond any integer: the three digits past the milliseconds are made of it
 */
export function formatTimestamp(utcMs: number, offsetHours: number, microsecond: number): string {
  const local = new Date(utcMs + offsetHours * hourMs).toISOString().slice(0, -1);
  const micros = String(mix(microsecond, 1) % 1000).padStart(3, "0");
  const hours = String(Math.abs(offsetHours)).padStart(2, "0");
  return `${local}${micros}${offsetHours < 0 ? "-" : "+"}${hours}:00`;
}

const occupiedByNight = 0.22;
const occupiedAtNoon = 0.6;
const weekendFactor = 0.6;

/** From Monday 00:00 on; working hours rise and fall between 7 and 20 o'clock. */
const occupiedByHourOfWeek: readonly number[] = Array.from({ length: 168 }, (_, hourOfWeek) => {
  const working = Math.max(0, Math.sin((Math.PI * ((hourOfWeek % 24) - 6.5)) / 13));
  const weekend = hourOfWeek >= 5 * 24;
  const share = occupiedByNight + (occupiedAtNoon - occupiedByNight) * working;
  return weekend ? share * weekendFactor : share;
});

/** The share of servers that clients hold, in the long run, at this local time of the week. */
export function occupiedShare(utcMs: number, offsetHours: number): number {
  const thursdayToMonday = 3 * 24;
  const hours = Math.floor(utcMs / hourMs) + offsetHours + thursdayToMonday;
  return occupiedByHourOfWeek[((hours % 168) + 168) % 168] ?? occupiedByNight;
}
