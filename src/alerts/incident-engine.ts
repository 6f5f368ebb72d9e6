import type { Target } from "../fleet/model.ts";
import { flapLimitOf, FlapRegistry, type FlapReading, type FlapRecord } from "./flap-record.ts";
import { advanceIncident, goesOnFiring, isNotified, untimed } from "./incident-phase.ts";
import type { ClockReading, Flaps, IncidentEvent, IncidentStep } from "./incident-phase.ts";
import type { IncidentTiming, SubjectEvent, Transition } from "./incident-phase.ts";
import { applyTransition, conditionOfIncident, incidentKey } from "./incident.ts";
import { notifiedIncident, textOf, withNotified } from "./incident.ts";
import type { Incident, Observed } from "./incident.ts";
import { plainText } from "./notification.ts";
import type { IncidentMessage, ItemText, OutboxItem } from "./notification.ts";
import { Recipients, notInhibited, wants } from "./recipients.ts";
import type { ConfiguredReceivers, Inhibition, Inhibitor } from "./recipients.ts";
import { ruleFingerprint, type Hold, type Rule } from "./rule.ts";
import { silenceFacts, silencingOf, type Silencing, type Suppressions } from "./silence.ts";
import type { Subject } from "./subjects.ts";

/** The rows to write and delete, and the notifications, that follow from an observation. */
export interface IncidentOutcome {
  /** New, or changed in any way. Resolved ones are among them; one that replaces it follows. */
  readonly written: readonly Incident[];
  /** Pending ones that ended before they fired. */
  readonly dropped: readonly Incident[];
  /** Changed ones; those without entries are to be deleted. */
  readonly flaps: readonly FlapRecord[];
  readonly steps: readonly { readonly step: IncidentStep; readonly incident: Incident }[];
  readonly outbox: readonly OutboxItem[];
}

export const noOutcome: IncidentOutcome = {
  written: [],
  dropped: [],
  flaps: [],
  steps: [],
  outbox: [],
};

export interface AlertOptions {
  readonly receivers: ConfiguredReceivers;
  readonly suppressions: Suppressions;
  readonly newIncidentId: () => string;
}

/** Open incidents and flap records, by `incidentKey`. */
export interface KnownIncidents {
  readonly incidents: ReadonlyMap<string, Incident>;
  readonly flaps: ReadonlyMap<string, FlapRecord>;
}

/** A rule's condition as it was observed of a subject, and the incident that the rule has for it. */
interface Judged {
  readonly rule: Rule;
  readonly subject: Subject;
  readonly event: SubjectEvent;
  readonly observed: Observed;
  readonly inhibitors: readonly Inhibitor[];
  readonly before: Incident | undefined;
}

type Suppression = Inhibition & { readonly silencing: Silencing | null };

const messageOfStep: Readonly<Partial<Record<IncidentStep, IncidentMessage>>> = {
  fired: "incident.firing",
  reminded: "incident.reminder",
  flapping: "incident.reminder",
  settled: "incident.reminder",
  resolved: "incident.resolved",
};

/** Applies rules to what was observed of subjects at one moment (UTC milliseconds). */
export class IncidentEngine {
  /** Whom its rules notify. */
  readonly recipients: Recipients;
  /** How often conditions of its rules recently began to hold. */
  readonly flaps: FlapRegistry;
  private readonly target: Target | null;
  private readonly incidents: KnownIncidents["incidents"];
  private readonly atMs: number;
  private readonly configured: ConfiguredReceivers;
  private readonly newIncidentId: AlertOptions["newIncidentId"];
  private readonly silenced: Suppressions["silenced"];
  private readonly acknowledgedBy: Suppressions["acknowledgedBy"];
  private readonly written: Incident[] = [];
  private readonly dropped: Incident[] = [];
  private readonly steps: IncidentOutcome["steps"][number][] = [];
  private readonly outbox: OutboxItem[] = [];
  private readonly retired = new Set<Incident>();
  /** The incidents that changed, by `incidentKey`. */
  private readonly latest = new Map<string, Incident>();

  constructor(
    { target = null, incidents, flaps }: KnownIncidents & { readonly target?: Target | null },
    atMs: number,
    { receivers: configured, suppressions, newIncidentId }: AlertOptions,
  ) {
    this.target = target;
    this.incidents = incidents;
    this.flaps = new FlapRegistry(flaps);
    this.atMs = atMs;
    this.configured = configured;
    this.newIncidentId = newIncidentId;
    const { silenced, acknowledgedBy } = suppressions;
    this.silenced = silenced;
    this.acknowledgedBy = acknowledgedBy;
    this.recipients = new Recipients(configured, target, atMs, acknowledgedBy);
  }

  get outcome(): IncidentOutcome {
    const { written, dropped, steps, outbox } = this;
    return { written, dropped, flaps: this.flaps.changed, steps, outbox };
  }

  /**
   * Applies a rule to a subject: reads how often it flaps and what suppresses its notifications, lets its incident go from
   * phase to phase, and notifies of that. An incident that goes on firing may notify more receivers than before.
   *
   * @param inhibitors incidents of which the subject's condition is a consequence
   * @returns the incident as it is now; null: there is none, or not any more
   */
  advance(
    rule: Rule,
    subject: Subject,
    event: SubjectEvent,
    observed: Observed,
    inhibitors: readonly Inhibitor[] = [],
  ): Incident | null {
    const open = this.incidents.get(incidentKey(rule.name, subject));
    const before = open && !this.retired.has(open) ? open : undefined;
    const judged = { rule, subject, event, observed, inhibitors, before };
    const reading = this.flaps.read(rule, subject, event, before);
    const suppression = this.suppressionOf(judged);
    const transition = advanceIncident(
      before?.phase ?? null,
      this.whole(judged, suppression, reading?.flaps ?? "no"),
      timingOf(rule),
    );
    const { phase, step } = transition;
    this.flaps.count(rule, subject, event, reading, step);
    if (!before && phase === null) return null;
    const text = textOfTransition(judged, transition, suppression, reading);
    const holds = event.kind === "holds";
    const goesOn = holds && isNotified(before?.phase) && isNotified(phase);
    const known = goesOn && before ? this.addReceivers(before, judged, suppression, text) : before;
    const isInhibitable = holds && phase?.name === "firing";
    const inhibitedBy = isInhibitable ? suppression.inhibitedBy : (before?.inhibitedBy ?? null);
    const isSame = known === before && inhibitedBy === before?.inhibitedBy;
    if (before && isSame && phase === before.phase) return before;
    const current = known ?? this.opened(judged);
    const again = current.owed.filter((name) => this.recipients.isNotified(name));
    const notified = [...again, ...suppression.receivers];
    const after = { ...applyTransition(current, transition, this.atMs, notified), inhibitedBy };
    // Who was just notified that it fires needs no reminder.
    this.record(withEnd(after, observed), step, text, goesOn ? before?.receivers : undefined);
    if (before && isSilencedBy(transition))
      return this.reopenSilenced({ ...before, inhibitedBy: suppression.inhibitedBy }, text);
    return phase === null ? null : after;
  }

  /** The incident of a rule and a subject after what was applied so far. It may have ended. */
  current({ name }: Rule, subject: Subject): Incident | undefined {
    const key = incidentKey(name, subject);
    return this.latest.get(key) ?? this.incidents.get(key);
  }

  goesOn(rule: Rule, incident: Incident, now: ClockReading): boolean {
    return (
      this.silenced.length === 0 &&
      incident.inhibitedBy === null &&
      goesOnFiring(incident.phase, now, rule.remindEveryMs) &&
      !this.recipients.mayJoin(rule, incident)
    );
  }

  /** Ends the incidents that none of these rules owns, and deletes flap records that none owns. */
  retireUnowned(rules: readonly Rule[], isOwned?: (incident: Incident) => boolean): void {
    const owned = new Set(rules.map(ruleFingerprint));
    for (const incident of this.incidents.values()) {
      if (owned.has(incident.ruleFingerprint) && (isOwned?.(incident) ?? true)) continue;
      this.retired.add(incident);
      const transition = advanceIncident(incident.phase, { kind: "rule_removed" }, untimed);
      const after = applyTransition(incident, transition, this.atMs, incident.receivers);
      this.record(after, transition.step, {
        ...plainText,
        condition: conditionOfIncident(incident),
      });
    }
    this.flaps.forgetUnowned(owned);
  }

  private notify(
    incident: Incident,
    type: IncidentMessage,
    receivers: readonly string[],
    text: ItemText,
  ): void {
    const { id, rule, severity } = incident;
    const notified = notifiedIncident(this.target, incident, this.acknowledgedBy.get(id) ?? null);
    const item = { type, rule, severity, ...text, incident: notified, causedAtMs: this.atMs };
    for (const receiver of receivers) {
      // What goes on can wait until the receiver is open. What it was notified of ends at any time.
      if (type !== "incident.resolved" && !this.recipients.isOpen(receiver)) continue;
      if (wants(this.configured, receiver, type)) this.outbox.push({ receiver, ...item });
    }
  }

  private record(
    incident: Incident,
    step: IncidentStep | null,
    text: ItemText,
    notified = step === "resolved" ? [...incident.owed, ...incident.receivers] : incident.receivers,
  ): void {
    this.latest.set(incidentKey(incident.rule, incident.subject), incident);
    if (step === "dropped") this.dropped.push(incident);
    else this.written.push(incident);
    if (step === null) return;
    this.steps.push({ step, incident });
    const type = messageOfStep[step];
    if (type !== undefined) this.notify(incident, type, notified, text);
  }

  /**
   * Notifies receivers that did not exist, were not named by the rule or were closed when the incident fired, and those of
   * the steps of its escalation that are due.
   */
  private addReceivers(
    incident: Incident,
    { rule, subject, observed, inhibitors }: Judged,
    suppression: Suppression,
    text: ItemText,
  ): Incident {
    const added = suppression.receivers.filter((name) => !incident.receivers.includes(name));
    let joined = withNotified(incident, added);
    const escalated = suppression.isInhibited
      ? []
      : this.recipients.escalated(rule, joined, subject, observed, inhibitors);
    if (added.length + escalated.length === 0) return incident;
    this.notify(incident, "incident.firing", added, text);
    for (const { afterMs, receivers } of escalated) {
      this.notify(incident, "incident.firing", receivers, { ...text, escalatedAfterMs: afterMs });
      joined = withNotified(joined, receivers);
    }
    if (escalated.length > 0) this.steps.push({ step: "escalated", incident: joined });
    return joined;
  }

  /**
   * A silence ended a notified incident. Opens another one, as the condition still holds. Nobody was notified of it yet;
   * receivers whose alert stays open are owed its end.
   */
  private reopenSilenced(incident: Incident, text: ItemText): Incident {
    if (incident.phase.name !== "firing") return incident;
    const phase = { ...incident.phase, clearSinceMs: null, notifiedAtMs: null };
    const id = this.newIncidentId();
    const owed = [...incident.owed, ...incident.receivers].filter(
      (name) => this.configured.get(name)?.keepsAlert,
    );
    const muted = { ...incident, id, phase, receivers: [], owed, firedAtMs: null };
    this.record(muted, "muted", text);
    return muted;
  }

  /** Finds those that are notified if it fires now, and what keeps others from it. */
  private suppressionOf(judged: Judged): Suppression {
    const { rule, subject, event, observed, inhibitors, before } = judged;
    const holds = event.kind === "holds";
    const wanted = holds ? this.recipients.informed(rule, subject, observed) : [];
    const inhibition = notInhibited(wanted, inhibitors, before);
    const receivers = inhibition.receivers.filter((name) => this.recipients.isOpen(name));
    const isAnySilenced = holds && this.silenced.length > 0;
    const facts = isAnySilenced && silenceFacts(rule, this.target, subject, observed);
    const silencing = facts ? silencingOf(this.silenced, facts) : null;
    return { ...inhibition, receivers, silencing };
  }

  /** The event with what suppresses the notifications of its subject. */
  private whole({ event, before }: Judged, suppression: Suppression, flaps: Flaps): IncidentEvent {
    if (!("now" in event)) return event;
    if (event.kind !== "holds") return { ...event, flaps };
    return {
      ...event,
      flaps,
      silenced: suppression.silencing !== null,
      inhibited: suppression.isInhibited,
      acknowledged: before !== undefined && this.acknowledgedBy.has(before.id),
    };
  }

  /** A new incident, before the transition that opened it. */
  private opened({ rule, subject, observed }: Judged): Omit<Incident, "phase"> {
    const { status = null, previousStatus = null, startedAtMs = this.atMs } = observed;
    return {
      id: this.newIncidentId(),
      rule: rule.name,
      ruleFingerprint: ruleFingerprint(rule),
      severity: rule.severity,
      receivers: [],
      owed: [],
      inhibitedBy: null,
      subject,
      status,
      previousStatus,
      startedAtMs,
      firedAtMs: null,
      resolvedAtMs: null,
    };
  }
}

function isSilencedBy({ phase }: Transition): boolean {
  return phase?.name === "resolved" && phase.reason === "silenced";
}

function textOfTransition(
  { rule, observed }: Judged,
  transition: Transition,
  { silencing }: Suppression,
  reading: FlapReading | null,
): ItemText {
  const isSilenced = isSilencedBy(transition) && silencing;
  return {
    ...textOf(rule, observed, transition.phase, reading?.frequency ?? null),
    ...(isSilenced && { action: { by: silencing.by, untilMs: silencing.endsAtMs } }),
    ...(transition.step === "settled" && { hasSettled: true }),
  };
}

/** As its message shows it: the end of an incident is that of the status that was observed then. */
function withEnd(incident: Incident, observed: Observed): Incident {
  const { status = null } = observed;
  const isOther = incident.resolvedAtMs !== null && incident.status !== status;
  return isOther ? { ...incident, status, previousStatus: incident.status } : incident;
}

function timingOf(rule: Rule): IncidentTiming {
  const { keepFiringForMs, remindEveryMs } = rule;
  const holdsFlapping = flapLimitOf(rule)?.firingOnly === true;
  return { hold: holdOf(rule), keepFiringForMs, remindEveryMs, holdsFlapping };
}

function holdOf(rule: Rule): Hold {
  switch (rule.on) {
    case "pool":
      return { kind: "duration", ms: rule.forMs };
    // Its targets must have failed for so long already.
    case "region":
      return { kind: "duration", ms: 0 };
    default:
      return rule.for;
  }
}
