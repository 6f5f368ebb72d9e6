import { formatDuration } from "../fleet/duration.ts";
import type { Notification } from "./notification.ts";

type Told = Pick<Notification, "causedAtMs" | "summary">;

/** Longer ago than this, a message must not read as if it had just happened. */
const lateAfterMs = 5 * 60 * 1_000;
const minuteMs = 60 * 1_000;

/**
 * How long ago the cause of a message was seen, where that is long enough to be said.
 *
 * @param nowMs when the message is sent. UTC milliseconds
 * @returns milliseconds; null: it is not late
 */
export function latenessMs({ causedAtMs }: Told, nowMs: number): number | null {
  const ageMs = nowMs - causedAtMs;
  return ageMs > lateAfterMs ? ageMs : null;
}

/** The summary as it is to be shown at this moment: "Late by 2h5m: 1 server in error in us". */
export function summaryAt(notification: Told, nowMs: number): string {
  const lateMs = latenessMs(notification, nowMs);
  if (lateMs === null) return notification.summary;
  const minutes = Math.round(lateMs / minuteMs);
  return `Late by ${formatDuration(minutes * minuteMs)}: ${notification.summary}`;
}
