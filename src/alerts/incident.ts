import type { Presence, Target } from "../fleet/model.ts";
import type { IncidentPhase, Transition } from "./incident-phase.ts";
import { plainText } from "./notification.ts";
import type { ItemText, NotifiedIncident, OutboxItem, ServerNames, Share } from "./notification.ts";
import { troubleOf, type Rule, type Severity } from "./rule.ts";
import { flappingCondition, identityOf, kindOf, noSubjectFacts } from "./subjects.ts";
import type { Subject, SubjectFacts } from "./subjects.ts";

/** A period during which a rule holds for one subject. Times are UTC milliseconds. */
export interface Incident {
  readonly id: string;
  readonly rule: string;
  /** The rule as it was when the incident opened: a rule that changed does not own it any more. */
  readonly ruleFingerprint: string;
  readonly severity: Severity;
  /** Those that were notified that it fires, and so are notified of what follows. */
  readonly receivers: readonly string[];
  /** Their alert stayed open during a silence: they get the end, but were not notified that this one fires. */
  readonly owed: readonly string[];
  /** The firing incident because of which some or all receivers are not notified of this one; null: there is none. */
  readonly inhibitedBy: string | null;
  readonly subject: Subject;
  readonly phase: IncidentPhase;
  /** The status that was observed; null, like the next, for anything but a server. */
  readonly status: Presence | null;
  readonly previousStatus: Presence | null;
  readonly startedAtMs: number;
  readonly firedAtMs: number | null;
  readonly resolvedAtMs: number | null;
}

/**
 * A stored incident has the id that was drawn for a new one. Nothing was written: judged again, it gets another one.
 */
export class IdTakenError extends Error {
  override readonly name = "IdTakenError";
  constructor() {
    super(
      "The id that was drawn for a new incident is taken. Another one is drawn at the next attempt.",
    );
  }
}

/** Identifies an incident among the open ones of its target: a rule and a subject have one at most. */
export function incidentKey(rule: string, subject: Subject): string {
  return JSON.stringify([rule, ...identityOf(subject.kind, subject)]);
}

/** @param target whose incident it is; null for one of a region, a pool, a probe or a receiver */
export function subjectFacts(target: Target | null, subject: Subject): SubjectFacts {
  const { kind: _, ...own } = subject;
  const place = target && { region: target.region, key: target.key };
  return { ...noSubjectFacts, ...place, ...own };
}

export function notifiedIncident(
  target: Target | null,
  incident: Incident,
  acknowledgedBy: string | null,
): NotifiedIncident {
  const { id, subject, phase, status, previousStatus, startedAtMs, resolvedAtMs } = incident;
  const isResolved = phase.name === "resolved";
  return {
    ...subjectFacts(target, subject),
    id,
    state: isResolved ? "resolved" : "firing",
    subject: subject.kind,
    trouble: subject.kind === "target" ? troubleOf(incident.ruleFingerprint) : null,
    status,
    previousStatus,
    startedAtMs,
    resolvedAtMs,
    resolvedReason: isResolved ? phase.reason : null,
    flapping: phase.name === "firing" && phase.flapping,
    acknowledgedBy,
  };
}

/** Whether a silence suppresses its notifications. */
export function isMuted({ phase, inhibitedBy }: Incident): boolean {
  return phase.name === "firing" && phase.notifiedAtMs === null && inhibitedBy === null;
}

/** Those of an open incident: in front of others what stops more of its notifications. */
export const incidentStates = [
  "pending",
  "inhibited",
  "silenced",
  "acknowledged",
  "firing",
] as const;

export function incidentState(
  incident: Incident,
  acknowledgedBy: ReadonlyMap<string, string>,
): (typeof incidentStates)[number] {
  const { id, phase, inhibitedBy } = incident;
  if (phase.name !== "firing") return "pending";
  if (phase.notifiedAtMs === null) return inhibitedBy === null ? "silenced" : "inhibited";
  return acknowledgedBy.has(id) ? "acknowledged" : "firing";
}

/** Whether a receiver was notified, and not that it is over, that the polls of these incidents' target or region fail. */
export function isNotifiedAsDown(incidents: Iterable<Incident>): boolean {
  return Iterator.from(incidents).some(
    ({ subject, phase, receivers, inhibitedBy, ruleFingerprint }) =>
      subject.kind === "target" &&
      phase.name === "firing" &&
      ((receivers.length > 0 && phase.notifiedAtMs !== null) || inhibitedBy !== null) &&
      troubleOf(ruleFingerprint) !== "partial",
  );
}

/** What texts about the incident as it is now are composed of. */
export function currentItem(
  target: Target | null,
  incident: Incident,
  acknowledgedBy: string | null,
  text: Partial<ItemText> | null = null,
): OutboxItem {
  const notified = notifiedIncident(target, incident, acknowledgedBy);
  return {
    condition: presentCondition(incident),
    ...plainText,
    ...text,
    receiver: "",
    type: notified.state === "firing" ? "incident.firing" : "incident.resolved",
    rule: incident.rule,
    severity: incident.severity,
    incident: notified,
    causedAtMs: incident.startedAtMs,
  };
}

/** The same as it is at present: what flaps may not have it. */
export function presentCondition(incident: Incident): string {
  const { phase } = incident;
  const condition = conditionOfIncident(incident);
  const isClear = phase.name === "firing" && phase.flapping && phase.clearSinceMs !== null;
  return isClear ? `${flappingCondition}, now not ${condition}` : condition;
}

/** An incident's condition in words, as in "2 servers in error". */
export function conditionOfIncident({ subject, status, ruleFingerprint }: Incident): string {
  return kindOf(subject.kind).condition(status, troubleOf(ruleFingerprint));
}

/** @param receivers those that are notified if it fires now */
export function applyTransition(
  incident: Omit<Incident, "phase">,
  { phase, step }: Transition,
  atMs: number,
  receivers: readonly string[],
): Incident {
  if (phase === null) return { ...incident, phase: { name: "resolved", reason: "recovered" } };
  const known =
    step === "fired" ? withNotified({ ...incident, firedAtMs: atMs }, receivers) : incident;
  return { ...known, phase, ...(step === "resolved" && { resolvedAtMs: atMs }) };
}

/** An incident of which these receivers, too, were notified that it fires. */
export function withNotified<Given extends Pick<Incident, "receivers" | "owed">>(
  incident: Given,
  names: readonly string[],
): Given {
  const receivers = [...new Set([...incident.receivers, ...names])];
  return { ...incident, receivers, owed: incident.owed.filter((name) => !names.includes(name)) };
}

/** A condition of a rule as it was observed of a subject. */
export interface Observed {
  readonly condition: string;
  readonly detail?: string | null;
  /** How many servers are not observed because of it. */
  readonly unmonitored?: number | null;
  /** As the item of an outbox has it. */
  readonly unobservedSinceMs?: number | null;
  /** When its condition began to hold, if that was before. UTC milliseconds. */
  readonly startedAtMs?: number;
  /** This and the other optional fields are set for servers and sandboxes. */
  readonly status?: Presence;
  /** Null: the status did not change. */
  readonly previousStatus?: Presence | null;
  readonly benchmark?: string | null;
  readonly tags?: readonly string[];
  /** A sandbox has its servers by name. */
  readonly servers?: ServerNames | null;
  readonly share?: Share | null;
}

/** Says it for notifications. @param frequency how often it flaps, in words; null: it does not count */
export function textOf(
  { summaryTemplate, runbookUrlTemplate }: Rule,
  { unobservedSinceMs = null, ...observed }: Observed,
  phase: IncidentPhase | null,
  frequency: string | null,
): ItemText {
  const { condition, detail = null, unmonitored = null, servers = null, share } = observed;
  const isFlapping = frequency !== null && phase?.name === "firing" && phase.flapping;
  const reason = detail === null ? "" : `, ${detail}`;
  return {
    summaryTemplate,
    runbookUrlTemplate,
    ...(isFlapping
      ? { condition: flappingCondition, detail: `${condition} ${frequency}${reason}` }
      : { condition, detail }),
    unmonitored,
    servers,
    ...(unobservedSinceMs !== null && { unobservedSinceMs }),
    ...(share && { share }),
  };
}
