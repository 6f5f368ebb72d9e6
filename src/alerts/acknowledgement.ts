import type { Target } from "../fleet/model.ts";
import { wants, type ConfiguredReceivers } from "./recipients.ts";
import { notifiedIncident, presentCondition, type Incident } from "./incident.ts";
import { plainText, type OutboxItem } from "./notification.ts";
import type { Rule } from "./rule.ts";

/** The last acknowledgement of an incident. */
export interface Acknowledgement {
  readonly incidentId: string;
  readonly author: string;
  readonly note: string | null;
  /** UTC milliseconds. */
  readonly atMs: number;
  /** Reminders go on from then. UTC milliseconds; null: it lasts until the incident resolves. */
  readonly endsAtMs: number | null;
  /** Who withdrew it; null: nobody did. */
  readonly endedBy: string | null;
}

/** The acknowledgement, unless it is over at a moment. UTC milliseconds. */
export function acknowledgementAt<Given extends Pick<Acknowledgement, "endsAtMs">>(
  given: Given | null,
  atMs: number,
): Given | null {
  return given === null || (given.endsAtMs ?? Infinity) <= atMs ? null : given;
}

/**
 * Composes the notifications that an incident was acknowledged, or that this was withdrawn, under the configured rules. They
 * are for those that were notified that the incident fires.
 */
export function composeAcknowledged(rules: readonly Rule[], receivers: ConfiguredReceivers) {
  return (
    incident: Incident,
    { author, atMs, endsAtMs, endedBy }: Acknowledgement,
    target: Target | null,
  ): readonly OutboxItem[] => {
    const rule = rules.find(({ name }) => name === incident.rule);
    const { summaryTemplate, runbookUrlTemplate } = rule ?? plainText;
    const isWithdrawn = endedBy !== null;
    const item = {
      type: isWithdrawn ? "incident.unacknowledged" : "incident.acknowledged",
      rule: incident.rule,
      severity: incident.severity,
      ...plainText,
      condition: presentCondition(incident),
      summaryTemplate,
      runbookUrlTemplate,
      incident: notifiedIncident(target, incident, isWithdrawn ? null : author),
      causedAtMs: isWithdrawn && endsAtMs !== null ? endsAtMs : atMs,
      action: { by: endedBy ?? author, untilMs: isWithdrawn ? null : endsAtMs },
    } as const;
    return incident.receivers
      .filter((receiver) => wants(receivers, receiver, item.type))
      .map((receiver) => ({ receiver, ...item }));
  };
}
