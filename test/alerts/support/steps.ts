import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";

/** An outcome's steps as short lines: "fired server-error a", "resolved target-down (recovered)". */
export function stepsOf({ steps }: IncidentOutcome): readonly string[] {
  return steps.map(({ step, incident: { rule, subject, phase } }) => {
    const server = subject.kind === "server" ? ` ${subject.serverId}` : "";
    const reason = step === "resolved" && phase.name === "resolved" ? ` (${phase.reason})` : "";
    return `${step} ${rule}${server}${reason}`;
  });
}

/** Outbox items as short lines: "oncall incident.firing incident-1". */
export function linesOf(items: readonly OutboxItem[]): readonly string[] {
  return items.map(({ receiver, type, incident }) => `${receiver} ${type} ${incident.id}`);
}
