import { summaryAt } from "../../core/lateness.ts";
import type { Notification } from "../../core/notification.ts";
import { readable } from "../../core/readable.ts";

export type Texts = Readonly<Record<string, string>>;

/** Names come from the service and can be anything: receivers get short texts, and no empty ones. */
export function shortTexts(
  values: Readonly<Record<string, string | null>>,
  longest: number,
): Texts {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null || value === "" ? [] : [[name, readable(value, longest)]],
    ),
  );
}

/**
 * The summary as it is to be shown now, never blank: a rule's own template can come out so, and
 * receivers refuse a message that says nothing.
 */
export function shownSummary(notification: Notification, nowMs: number, longest: number): string {
  const summary = readable(summaryAt(notification, nowMs), longest);
  return summary.trim() === "" ? notification.rule : summary;
}

/** As RFC 3339 has it, with milliseconds. */
export function isoTime(utcMs: number): string {
  return new Date(utcMs).toISOString();
}
