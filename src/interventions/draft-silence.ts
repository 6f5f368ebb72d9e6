import { RefusedError } from "../core/refusal.ts";
import type { Silence } from "../core/silence.ts";
import type { CheckedSilenceRequest } from "./requests.ts";

const longestMs = 366 * 24 * 60 * 60 * 1_000;

/**
 * The silence that a request asks for, but for its id. One that is to begin in the past begins now:
 * what was told is told.
 *
 * @throws {RefusedError} when its times make no sense
 */
export function draftSilence(request: CheckedSilenceRequest, nowMs: number): Omit<Silence, "id"> {
  const { match, author, reason, starts_at: start, ends_at: end, duration } = request;
  const startsAtMs = Math.max(start ?? nowMs, nowMs);
  if ((end === undefined) === (duration === undefined)) {
    throw wrong(
      "ends_at",
      "when it ends, as a time, or how long it lasts, as duration: one of the two",
    );
  }
  const endsAtMs = end ?? startsAtMs + (duration ?? 0);
  if (endsAtMs <= nowMs) throw wrong("ends_at", "an end in the future");
  if (endsAtMs <= startsAtMs) throw wrong("ends_at", "an end after the start");
  if (endsAtMs - startsAtMs > longestMs)
    throw wrong("ends_at", "an end within a year of the start");
  if (startsAtMs - nowMs > longestMs) throw wrong("starts_at", "a start within a year");
  return { match, author, reason, startsAtMs, endsAtMs };
}

function wrong(path: string, allowed: string): RefusedError {
  const message = `The silence cannot be added. Allowed: ${path}: ${allowed}`;
  return new RefusedError("invalid", message, [{ path, allowed }]);
}
