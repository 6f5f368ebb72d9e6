import type { Target } from "../fleet/model.ts";
import { conditionOfIncident, notifiedIncident, type Incident } from "./incident.ts";
import { plainText, wants, type OutboxItem, type WantedMessages } from "./notification.ts";
import type { Rule } from "./rule.ts";

/** The first acknowledgement of an incident. */
export interface Acknowledgement {
  readonly incidentId: string;
  readonly author: string;
  readonly note: string | null;
  /** UTC milliseconds. */
  readonly atMs: number;
}

/**
 * Composes the notifications about acknowledgements under the configured rules, for those that were notified that the
 * incident fires.
 */
export function composeAcknowledged(rules: readonly Rule[], receivers: WantedMessages) {
  return (
    incident: Incident,
    { author, atMs }: Acknowledgement,
    target: Target | null,
  ): readonly OutboxItem[] => {
    const rule = rules.find(({ name }) => name === incident.rule);
    const { summaryTemplate, runbookUrlTemplate } = rule ?? plainText;
    const item = {
      type: "incident.acknowledged",
      rule: incident.rule,
      severity: incident.severity,
      ...plainText,
      condition: conditionOfIncident(incident),
      summaryTemplate,
      runbookUrlTemplate,
      incident: notifiedIncident(target, incident, author),
      causedAtMs: atMs,
    } as const;
    return incident.receivers
      .filter((receiver) => wants(receivers, receiver, item.type))
      .map((receiver) => ({ receiver, ...item }));
  };
}
