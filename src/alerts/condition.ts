import type { Incident } from "./incident.ts";
import { troubleOf } from "./matching.ts";
import type { FailureReason, Presence } from "../fleet/model.ts";
import type { ProbeResult } from "./probe-progress.ts";
import type { TargetRule } from "./rule.ts";

/** An incident's condition in words, as in "2 servers in error". */
export function conditionOfIncident({ subject, status, ruleFingerprint }: Incident): string {
  switch (subject.kind) {
    case "target":
      return conditionOfTarget({ trouble: troubleOf(ruleFingerprint) });
    case "server":
      return conditionOfStatus(status ?? "unknown");
    case "pool":
      return "beyond its limit";
    case "probe":
      return "failing";
    case "receiver":
      return "not accepting notifications";
  }
}

export function conditionOfStatus(status: Presence): string {
  return status === "error" ? "in error" : status;
}

/** @param reason why its last poll failed; omitted once it is up again */
export function conditionOfTarget(
  { trouble }: Pick<TargetRule, "trouble">,
  reason?: FailureReason,
): string {
  if (trouble === "auth") return "refused by the service";
  if (trouble === "partial") return "partially listed";
  return reason === undefined ? "down" : `down (${reason})`;
}

/** @param result of its last run */
export function conditionOfProbe({
  reason,
  detail,
}: Pick<ProbeResult, "reason" | "detail">): string {
  if (reason === null) return "failing";
  // What is in brackets at the end is left out where probes fail for different reasons.
  const why = reason === "unmet" && detail !== null ? detail.replaceAll(/[()]/g, "") : reason;
  return `failing (${why})`;
}
