import type { MaintenanceWindow } from "../alerts/silence.ts";
import { parseCronTimes } from "../lib/cron-times.ts";

/** One time that a maintenance window is open. UTC milliseconds; the end does not belong to it. */
export interface Opening {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

export interface TimedWindow extends MaintenanceWindow {
  /** The opening that a moment lies in; null: it is closed then. */
  openingAt(atMs: number): Opening | null;
  /** The first opening after a moment; null: there is none. */
  nextOpening(afterMs: number): Opening | null;
}

/**
 * Computes when a window is open. The result for moments between the same two starts is kept.
 */
export function timeWindow(window: MaintenanceWindow): TimedWindow {
  const times = parseCronTimes(window.start, window.timeZone);
  if (!times) throw new TypeError(`the start of maintenance window ${window.name} is no cron time`);
  const openingFrom = (startsAtMs: number | null): Opening | null =>
    startsAtMs === null ? null : { startsAtMs, endsAtMs: startsAtMs + window.durationMs };

  let known = { fromMs: Number.POSITIVE_INFINITY, untilMs: 0, opening: openingFrom(null) };
  return {
    ...window,
    openingAt(atMs) {
      if (atMs < known.fromMs || atMs >= known.untilMs) {
        const latestMs = times.latest(atMs);
        known = {
          fromMs: latestMs ?? atMs,
          untilMs: times.next(atMs) ?? Number.POSITIVE_INFINITY,
          opening: openingFrom(latestMs),
        };
      }
      const { opening } = known;
      return opening && atMs < opening.endsAtMs ? opening : null;
    },
    nextOpening: (afterMs) => openingFrom(times.next(afterMs)),
  };
}
