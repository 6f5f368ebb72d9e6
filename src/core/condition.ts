import type { Incident } from "./incident.ts";
import type { FailureReason, Presence } from "./model.ts";
import type { TargetRule } from "./rule.ts";

/** An incident's condition in words, as in "2 servers in error". */
export function conditionOfIncident({ subject, status }: Incident): string {
  switch (subject.kind) {
    case "target":
      return "cannot be seen";
    case "server":
      return conditionOfStatus(status ?? "unknown");
    case "pool":
      return "beyond its limit";
    case "receiver":
      return "takes no notifications";
  }
}

export function conditionOfStatus(status: Presence): string {
  return status === "error" ? "in error" : status;
}

/** @param reason why its last poll failed; left out once it can be seen again */
export function conditionOfTarget({ trouble }: TargetRule, reason?: FailureReason): string {
  if (trouble === "auth") return "refused by the service";
  return reason === undefined ? "cannot be seen" : `cannot be seen (${reason})`;
}
