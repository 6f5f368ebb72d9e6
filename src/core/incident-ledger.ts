import { advanceIncident } from "./incident-phase.ts";
import type { IncidentEvent, IncidentStep, IncidentTiming, Transition } from "./incident-phase.ts";
import { incidentKey, tellIncident } from "./incident.ts";
import type { Incident, Subject } from "./incident.ts";
import { ruleFingerprint } from "./matching.ts";
import type { Presence, Target } from "./model.ts";
import type { IncidentMessage, OutboxItem } from "./notification.ts";
import type { Rule } from "./rule.ts";

/** What a poll did to a target's incidents: rows to write and remove, and what must be told. */
export interface IncidentOutcome {
  /** New, or changed in any way. Resolved ones are among them. */
  readonly written: readonly Incident[];
  /** Pending ones that ended before they fired. */
  readonly dropped: readonly Incident[];
  readonly steps: readonly { readonly step: IncidentStep; readonly incident: Incident }[];
  readonly outbox: readonly OutboxItem[];
}

export interface LedgerOptions {
  readonly target: Target;
  readonly open: ReadonlyMap<string, Incident>;
  /** UTC milliseconds. */
  readonly atMs: number;
  /** Whether a receiver exists and, for a resolve, wants to hear of it. */
  readonly tells: (receiver: string, type: IncidentMessage) => boolean;
  readonly newIncidentId: () => string;
}

/** What the subject was seen as when the event came. */
export interface Sighting {
  readonly status: Presence | null;
  readonly previousStatus: Presence | null;
  /** The condition in words, for the message. */
  readonly condition: string;
}

export interface IncidentLedger {
  /** Passes an event to the incident that a rule has for a subject, or would have. */
  advance(rule: Rule, subject: Subject, event: IncidentEvent, sighting: Sighting): void;
  /** Ends an incident whose rule is no more. */
  retire(incident: Incident, condition: string): void;
  readonly outcome: IncidentOutcome;
}

const messageOfStep: Readonly<Partial<Record<IncidentStep, IncidentMessage>>> = {
  fired: "incident.firing",
  reminded: "incident.reminder",
  resolved: "incident.resolved",
};

const untimed: IncidentTiming = {
  hold: { kind: "duration", ms: 0 },
  keepFiringForMs: 0,
  remindEveryMs: null,
};

export function createIncidentLedger(options: LedgerOptions): IncidentLedger {
  const { target, atMs } = options;
  const written: Incident[] = [];
  const dropped: Incident[] = [];
  const steps: { step: IncidentStep; incident: Incident }[] = [];
  const outbox: OutboxItem[] = [];

  const toldOfFire = ({ receivers }: Rule): readonly string[] =>
    receivers.filter((receiver) => options.tells(receiver, "incident.firing"));

  const tell = (
    incident: Incident,
    type: IncidentMessage,
    receivers: readonly string[],
    condition: string,
  ): void => {
    const { rule, severity } = incident;
    const told = tellIncident(target, incident);
    for (const receiver of receivers) {
      if (!options.tells(receiver, type)) continue;
      outbox.push({ receiver, type, rule, severity, condition, incident: told, causedAtMs: atMs });
    }
  };

  const record = (incident: Incident, step: IncidentStep | null, condition: string): void => {
    if (step === "dropped") dropped.push(incident);
    else written.push(incident);
    if (step === null) return;
    steps.push({ step, incident });
    const type = messageOfStep[step];
    if (type !== undefined) tell(incident, type, incident.receivers, condition);
  };

  /** Receivers that were not there, or not named by the rule, when the incident fired. */
  const tellNewcomers = (rule: Rule, incident: Incident, condition: string): Incident => {
    const newcomers = toldOfFire(rule).filter((name) => !incident.receivers.includes(name));
    if (newcomers.length === 0) return incident;
    tell(incident, "incident.firing", newcomers, condition);
    return { ...incident, receivers: [...incident.receivers, ...newcomers] };
  };

  return {
    advance(rule, subject, event, sighting) {
      const before = options.open.get(incidentKey(rule.name, subject));
      const transition = advanceIncident(before?.phase ?? null, event, timingOf(rule));
      if (!before && transition.phase === null) return;
      const goesOn = event.kind === "holds" && before?.phase.name === "firing";
      const known = goesOn ? tellNewcomers(rule, before, sighting.condition) : before;
      if (known && known === before && transition.phase === before.phase) return;
      const current = known ?? openIncident(rule, subject, sighting, options);
      const after = applyTransition(current, transition, atMs, toldOfFire(rule));
      const resolved = transition.step === "resolved" ? seenAs(after, sighting) : after;
      record(resolved, transition.step, sighting.condition);
    },
    retire(incident, condition) {
      const transition = advanceIncident(incident.phase, { kind: "rule_removed" }, untimed);
      record(
        applyTransition(incident, transition, atMs, incident.receivers),
        transition.step,
        condition,
      );
    },
    outcome: { written, dropped, steps, outbox },
  };
}

function openIncident(
  rule: Rule,
  subject: Subject,
  { status, previousStatus }: Sighting,
  { atMs, newIncidentId }: LedgerOptions,
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

function seenAs(incident: Incident, { status }: Sighting): Incident {
  return incident.subject.kind === "target" || incident.status === status
    ? incident
    : { ...incident, status, previousStatus: incident.status };
}

function timingOf(rule: Rule): IncidentTiming {
  const { keepFiringForMs, remindEveryMs } = rule;
  const hold = rule.on === "server" ? rule.for : rule.failing;
  return { hold, keepFiringForMs, remindEveryMs };
}
