import { createFlapRegistry } from "./flap-registry.ts";
import type { FlapReading } from "./flap-registry.ts";
import type { FlapRecord } from "./flap-record.ts";
import { advanceIncident, goesOnFiring } from "./incident-phase.ts";
import type { ClockReading, IncidentEvent, IncidentPhase } from "./incident-phase.ts";
import type { IncidentStep, IncidentTiming, Transition } from "./incident-phase.ts";
import { incidentKey, notifiedIncident } from "./incident.ts";
import type { Incident, Subject } from "./incident.ts";
import type { Interventions, Silenced } from "./interventions.ts";
import { ruleFingerprint } from "./matching.ts";
import type { Presence, Target } from "../fleet/model.ts";
import { noTemplates } from "./notification.ts";
import type { IncidentMessage, OutboxItem } from "./notification.ts";
import type { Hold, Rule } from "./rule.ts";
import { silenceFacts } from "./silence-facts.ts";
import type { SilenceFacts } from "./silence.ts";

/** What a poll did to a target's incidents: rows to write and remove, and what must be told. */
export interface IncidentOutcome {
  /** New, or changed in any way. Resolved ones are among them; one that takes its place follows. */
  readonly written: readonly Incident[];
  /** Pending ones that ended before they fired. */
  readonly dropped: readonly Incident[];
  /** Changed ones; those without entries are to be forgotten. */
  readonly flaps: readonly FlapRecord[];
  readonly steps: readonly { readonly step: IncidentStep; readonly incident: Incident }[];
  readonly outbox: readonly OutboxItem[];
}

/** Brings the open incidents to what an outcome made of them, in its order. */
export function takeOn(
  { written, dropped }: Pick<IncidentOutcome, "written" | "dropped">,
  open: {
    readonly set: (incident: Incident) => void;
    readonly remove: (incident: Incident) => void;
  },
): void {
  for (const incident of written) {
    if (incident.phase.name === "resolved") open.remove(incident);
    else open.set(incident);
  }
  dropped.forEach(open.remove);
}

export interface EngineOptions {
  /** Whose incidents these are; null: those of pools or receivers. */
  readonly target: Target | null;
  readonly open: ReadonlyMap<string, Incident>;
  /** By the same keys. */
  readonly flaps: ReadonlyMap<string, FlapRecord>;
  /** UTC milliseconds. */
  readonly atMs: number;
  /** Whether a receiver exists and wants to hear of this. */
  readonly tells: (receiver: string, type: IncidentMessage) => boolean;
  readonly interventions: Interventions;
  readonly newIncidentId: () => string;
}

/** What the subject was seen as when the event came. */
export interface SubjectStatus {
  readonly status: Presence | null;
  readonly previousStatus: Presence | null;
  /** The condition in words, for the message. */
  readonly condition: string;
  /** Of a server. */
  readonly benchmark?: string | null;
  readonly tags?: readonly string[];
}

/** What happened to a subject, as far as it alone tells. */
export type SubjectEvent =
  | { readonly kind: "holds" | "clears"; readonly now: ClockReading }
  | Exclude<IncidentEvent, { readonly kind: "holds" | "clears" }>;

export interface IncidentEngine {
  /** Passes an event to the incident that a rule has for a subject, or would have. */
  advance(rule: Rule, subject: Subject, event: SubjectEvent, subjectStatus: SubjectStatus): void;
  /** Whether an incident stays as it is when nothing about its subject is otherwise. */
  goesOn(rule: Rule, incident: Incident, now: ClockReading): boolean;
  /** Ends an incident whose rule is no more. */
  retire(incident: Incident, condition: string): void;
  /** Forgets when a subject entered a rule's condition. */
  forget(record: FlapRecord): void;
  readonly outcome: IncidentOutcome;
}

const messageOfStep: Readonly<Partial<Record<IncidentStep, IncidentMessage>>> = {
  fired: "incident.firing",
  reminded: "incident.reminder",
  flapping: "incident.reminder",
  settled: "incident.reminder",
  resolved: "incident.resolved",
};

const untimed: IncidentTiming = {
  hold: { kind: "duration", ms: 0 },
  keepFiringForMs: 0,
  remindEveryMs: null,
};

type Templates = Pick<Rule, "summaryTemplate" | "runbookUrlTemplate">;

export function createIncidentEngine(options: EngineOptions): IncidentEngine {
  const { target, atMs, interventions } = options;
  // Most polls have nobody ask.
  let silencedNow: Silenced | null | undefined;
  const silencedAtPresent = (): Silenced | null =>
    silencedNow === undefined ? (silencedNow = interventions.silencedAt(atMs)) : silencedNow;
  const written: Incident[] = [];
  const dropped: Incident[] = [];
  const flaps = createFlapRegistry(options.flaps);
  const steps: { step: IncidentStep; incident: Incident }[] = [];
  const outbox: OutboxItem[] = [];

  const acknowledgedBy = ({ id }: Incident): string | null => interventions.acknowledgedBy(id);

  const receiversOfFiring = ({ receivers }: Rule): readonly string[] =>
    receivers.filter((receiver) => options.tells(receiver, "incident.firing"));

  const notify = (
    incident: Incident,
    type: IncidentMessage,
    receivers: readonly string[],
    words: Words,
  ): void => {
    const { rule, severity } = incident;
    const { condition, summaryTemplate, runbookUrlTemplate } = words;
    const notified = notifiedIncident(target, incident, acknowledgedBy(incident));
    const templates = { summaryTemplate, runbookUrlTemplate };
    const item = { type, rule, severity, condition, ...templates, incident: notified };
    for (const receiver of receivers) {
      if (options.tells(receiver, type)) outbox.push({ receiver, ...item, causedAtMs: atMs });
    }
  };

  const record = (incident: Incident, step: IncidentStep | null, words: Words): void => {
    if (step === "dropped") dropped.push(incident);
    else written.push(incident);
    if (step === null) return;
    steps.push({ step, incident });
    const type = messageOfStep[step];
    if (type !== undefined) notify(incident, type, incident.receivers, words);
  };

  /** Receivers that were not there, or not named by the rule, when the incident was told. */
  const notifyNewReceivers = (rule: Rule, incident: Incident, words: Words): Incident => {
    const newcomers = receiversOfFiring(rule).filter((name) => !incident.receivers.includes(name));
    if (newcomers.length === 0) return incident;
    notify(incident, "incident.firing", newcomers, words);
    return { ...incident, receivers: [...incident.receivers, ...newcomers] };
  };

  const complete = (
    event: SubjectEvent,
    before: Incident | undefined,
    reading: FlapReading | null,
    facts: () => SilenceFacts,
  ): IncidentEvent => {
    const flapping = reading?.flaps ?? "no";
    switch (event.kind) {
      case "holds": {
        const silenced = silencedAtPresent()?.(facts()) ?? false;
        const acknowledged = before !== undefined && acknowledgedBy(before) !== null;
        return { kind: "holds", now: event.now, silenced, acknowledged, flaps: flapping };
      }
      case "clears":
        return { kind: "clears", now: event.now, flaps: flapping };
      case "unobserved":
      case "gone":
      case "rule_removed":
        return event;
    }
  };

  /** A silence took back what was told: the condition goes on, as an incident that is not told. */
  const mute = (incident: Incident, words: Words): void => {
    if (incident.phase.name !== "firing") return;
    const phase = { ...incident.phase, clearSinceMs: null, notifiedAtMs: null };
    const id = options.newIncidentId();
    record({ ...incident, id, phase, receivers: [], firedAtMs: null }, "muted", words);
  };

  const seeFlaps = (
    rule: Rule,
    subject: Subject,
    event: SubjectEvent,
    before: Incident | undefined,
  ): FlapReading | null => {
    if (event.kind === "unobserved" && before) flaps.pass(rule, subject, event.passed.ms);
    if (event.kind !== "holds" && event.kind !== "clears") return null;
    return flaps.see(rule, subject, { holds: event.kind === "holds", now: event.now, before });
  };

  return {
    advance(rule, subject, event, subjectStatus) {
      const before = options.open.get(incidentKey(rule.name, subject));
      const flapping = seeFlaps(rule, subject, event, before);
      const whole = complete(event, before, flapping, () =>
        silenceFacts(rule, target, subject, subjectStatus),
      );
      const transition = advanceIncident(before?.phase ?? null, whole, timingOf(rule));
      if (!before && transition.phase === null) return;
      const words = wordsOf(rule, subjectStatus, transition, flapping);
      const goesOn =
        isNotified(before?.phase) && isNotified(transition.phase) && event.kind === "holds";
      const known = goesOn && before ? notifyNewReceivers(rule, before, words) : before;
      if (known && known === before && transition.phase === before.phase) return;
      const current = known ?? openIncident(rule, subject, subjectStatus, options);
      const after = applyTransition(current, transition, atMs, receiversOfFiring(rule));
      const resolved = transition.step === "resolved" ? withStatus(after, subjectStatus) : after;
      record(resolved, transition.step, words);
      if (before && isSilenced(transition.phase)) mute(before, words);
    },
    goesOn: ({ remindEveryMs }, { phase }, now) =>
      silencedAtPresent() === null && goesOnFiring(phase, now, remindEveryMs),
    retire(incident, condition) {
      const transition = advanceIncident(incident.phase, { kind: "rule_removed" }, untimed);
      const after = applyTransition(incident, transition, atMs, incident.receivers);
      record(after, transition.step, { ...noTemplates, condition });
    },
    forget: (entries) => flaps.forget(entries),
    outcome: { written, dropped, flaps: flaps.changed, steps, outbox },
  };
}

/** What a message says beside the incident itself. */
interface Words extends Templates {
  readonly condition: string;
}

function wordsOf(
  { summaryTemplate, runbookUrlTemplate }: Rule,
  { condition }: SubjectStatus,
  { phase }: Transition,
  reading: FlapReading | null,
): Words {
  const flapping = reading !== null && phase?.name === "firing" && phase.flapping;
  return {
    summaryTemplate,
    runbookUrlTemplate,
    condition: flapping ? `flapping (${condition} ${reading.frequency})` : condition,
  };
}

function isNotified(phase: IncidentPhase | null | undefined): boolean {
  return phase?.name === "firing" && phase.notifiedAtMs !== null;
}

function isSilenced(phase: IncidentPhase | null): boolean {
  return phase?.name === "resolved" && phase.reason === "silenced";
}

function openIncident(
  rule: Rule,
  subject: Subject,
  { status, previousStatus }: SubjectStatus,
  { atMs, newIncidentId }: EngineOptions,
): Omit<Incident, "phase"> {
  return {
    id: newIncidentId(),
    rule: rule.name,
    ruleFingerprint: ruleFingerprint(rule),
    severity: rule.severity,
    receivers: [],
    subject,
    status,
    previousStatus,
    startedAtMs: atMs,
    firedAtMs: null,
    resolvedAtMs: null,
  };
}

function applyTransition(
  incident: Omit<Incident, "phase">,
  { phase, step }: Transition,
  atMs: number,
  receivers: readonly string[],
): Incident {
  if (phase === null) return { ...incident, phase: { name: "resolved", reason: "recovered" } };
  const fired = step === "fired" ? { firedAtMs: atMs, receivers } : {};
  const resolved = phase.name === "resolved" ? { resolvedAtMs: atMs } : {};
  return { ...incident, phase, ...fired, ...resolved };
}

function withStatus(incident: Incident, { status }: SubjectStatus): Incident {
  return incident.subject.kind !== "server" || incident.status === status
    ? incident
    : { ...incident, status, previousStatus: incident.status };
}

function timingOf(rule: Rule): IncidentTiming {
  const { keepFiringForMs, remindEveryMs } = rule;
  const hold: Hold = rule.on === "pool" ? { kind: "duration", ms: rule.forMs } : rule.for;
  return { hold, keepFiringForMs, remindEveryMs };
}
