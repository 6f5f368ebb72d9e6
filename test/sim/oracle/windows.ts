import type { MaintenanceWindow } from "../scenario.ts";

const minuteMs = 60_000;

/** Whether a maintenance window is open, by the clocks of its zone. */
export function isOpen({ start, timeZone, durationMs }: MaintenanceWindow, utcMs: number): boolean {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const latestMs = Math.floor(utcMs / minuteMs) * minuteMs;
  for (let atMs = latestMs; atMs > utcMs - durationMs; atMs -= minuteMs) {
    if (new Date(atMs).getUTCMinutes() % 30 !== start.minute % 30) continue;
    const [hour = "", minute = ""] = format.format(atMs).split(":");
    if (Number(minute) === start.minute && Number(hour) % start.everyHours === 0) return true;
  }
  return false;
}
