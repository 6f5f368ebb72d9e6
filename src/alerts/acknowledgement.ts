import { conditionOfIncident, conditionOfTarget } from "./condition.ts";
import { notifiedIncident } from "./incident.ts";
import type { Incident } from "./incident.ts";
import type { Target } from "../fleet/model.ts";
import type { IncidentMessage, OutboxItem } from "./notification.ts";
import type { Rule } from "./rule.ts";

/** Somebody said "I know" of an incident. */
export interface Acknowledgement {
  readonly incidentId: string;
  readonly author: string;
  readonly note: string | null;
  /** UTC milliseconds. */
  readonly atMs: number;
}

export interface AcknowledgedContext {
  /** Whose incident it is; null for one of a pool or a receiver. */
  readonly target: Target | null;
  /** The one that the incident is of; undefined: the configuration has it no more. */
  readonly rule: Rule | undefined;
  /** Whether a receiver exists and wants to hear of this. */
  readonly tells: (receiver: string, type: IncidentMessage) => boolean;
}

/** Composes the notifications about acknowledgements under the configured rules. */
export function composeAcknowledged(
  rules: readonly Rule[],
  tells: AcknowledgedContext["tells"],
): (
  incident: Incident,
  acknowledgement: Acknowledgement,
  target: Target | null,
) => readonly OutboxItem[] {
  return (incident, acknowledgement, target) => {
    const rule = rules.find(({ name }) => name === incident.rule);
    return acknowledgementItems(incident, acknowledgement, { target, rule, tells });
  };
}

/** What those who were told that an incident fires are told when somebody acknowledges it. */
export function acknowledgementItems(
  incident: Incident,
  { author, atMs }: Acknowledgement,
  { target, rule, tells }: AcknowledgedContext,
): readonly OutboxItem[] {
  const type = "incident.acknowledged";
  const condition = rule?.on === "target" ? conditionOfTarget(rule) : conditionOfIncident(incident);
  const item = {
    type,
    rule: incident.rule,
    severity: incident.severity,
    condition,
    summaryTemplate: rule?.summaryTemplate ?? null,
    runbookUrlTemplate: rule?.runbookUrlTemplate ?? null,
    incident: notifiedIncident(target, incident, author),
    causedAtMs: atMs,
  } as const;
  return incident.receivers
    .filter((receiver) => tells(receiver, type))
    .map((receiver) => ({ receiver, ...item }));
}
