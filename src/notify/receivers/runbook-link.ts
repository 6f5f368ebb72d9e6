import type { Notification } from "../../core/notification.ts";

/** A name that the rule's template put in can make an address longer than receivers take. */
const longestLink = 2_000;

/** The runbook's address where it can stand in a message; null: there is none, or it cannot. */
export function runbookLink({ runbookUrl }: Notification): string | null {
  const link = runbookUrl === null ? null : (URL.parse(runbookUrl)?.href ?? null);
  return link !== null && link.length <= longestLink ? link : null;
}
