import type { Incident } from "./incident.ts";
import type { Presence } from "./model.ts";

/** An incident's condition in words, as in "2 servers in error". */
export function conditionOfIncident(incident: Incident): string {
  return incident.subject.kind === "target"
    ? "cannot be seen"
    : conditionOfStatus(incident.status ?? "unknown");
}

export function conditionOfStatus(status: Presence): string {
  return status === "error" ? "in error" : status;
}
