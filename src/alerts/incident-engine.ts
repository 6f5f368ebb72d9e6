import type { Target } from "../fleet/model.ts";
import { flapKey, flapLimitOf, flapsAfterEnd, readFlaps, recentEntries } from "./flap-record.ts";
import type { FlapReading, FlapRecord } from "./flap-record.ts";
import { advanceIncident, goesOnFiring, isNotified, untimed } from "./incident-phase.ts";
import type { ClockReading, IncidentEvent } from "./incident-phase.ts";
import type { IncidentStep, IncidentTiming, SubjectEvent } from "./incident-phase.ts";
import { applyTransition, conditionOfIncident, incidentKey } from "./incident.ts";
import { notifiedIncident, textOf, withNotified } from "./incident.ts";
import type { Incident, Observed } from "./incident.ts";
import { plainText } from "./notification.ts";
import type { IncidentMessage, ItemText, OutboxItem } from "./notification.ts";
import { Recipients, notInhibited, wants } from "./recipients.ts";
import type { ConfiguredReceivers, Inhibitor } from "./recipients.ts";
import { ruleFingerprint, type EscalationStep, type Hold, type Rule } from "./rule.ts";
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
  private readonly target: Target | null;
  private readonly incidents: KnownIncidents["incidents"];
  private readonly flaps: KnownIncidents["flaps"];
  private readonly atMs: number;
  private readonly configured: ConfiguredReceivers;
  private readonly newIncidentId: AlertOptions["newIncidentId"];
  private readonly silenced: Suppressions["silenced"];
  private readonly acknowledgedBy: Suppressions["acknowledgedBy"];
  private readonly written: Incident[] = [];
  private readonly dropped: Incident[] = [];
  private readonly changedFlaps: FlapRecord[] = [];
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
    this.flaps = flaps;
    this.atMs = atMs;
    this.configured = configured;
    this.newIncidentId = newIncidentId;
    const { silenced, acknowledgedBy } = suppressions;
    this.silenced = silenced;
    this.acknowledgedBy = acknowledgedBy;
    this.recipients = new Recipients(configured, target, atMs, acknowledgedBy);
  }

  get outcome(): IncidentOutcome {
    const { written, dropped, changedFlaps: flaps, steps, outbox } = this;
    return { written, dropped, flaps, steps, outbox };
  }

  /**
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
    const key = incidentKey(rule.name, subject);
    const open = this.incidents.get(key);
    const before = open && !this.retired.has(open) ? open : undefined;
    const reading = readFlaps(this.flaps.get(key), rule, subject, event, before);
    const wanted = event.kind === "holds" ? this.recipients.informed(rule, subject, observed) : [];
    const inhibition = notInhibited(wanted, inhibitors, before);
    const { isInhibited } = inhibition;
    const receivers = inhibition.receivers.filter((name) => this.recipients.isOpen(name));
    const silencing = event.kind === "holds" ? this.silencing(rule, subject, observed) : null;
    const transition = advanceIncident(
      before?.phase ?? null,
      this.whole(event, silencing, before, reading, isInhibited),
      timingOf(rule),
    );
    const { phase, step } = transition;
    const hasEnded = (step === "resolved" || step === "settled") && "now" in event;
    const flapsNow = hasEnded
      ? flapsAfterEnd(reading?.changed ?? this.flaps.get(key), rule, subject, event.now.ms)
      : reading?.changed;
    if (flapsNow) this.changedFlaps.push(flapsNow);
    if (step === "dropped" && flapLimitOf(rule)?.firingOnly) this.uncount(this.flaps.get(key));
    if (!before && phase === null) return null;
    const isSilenced = phase?.name === "resolved" && phase.reason === "silenced";
    const action = isSilenced &&
      silencing && { action: { by: silencing.by, untilMs: silencing.endsAtMs } };
    const settled = step === "settled" && { hasSettled: true as const };
    const text = {
      ...textOf(rule, observed, phase, reading?.frequency ?? null),
      ...action,
      ...settled,
    };
    const isFiring = event.kind === "holds" && phase?.name === "firing";
    const inhibitedBy = isFiring ? inhibition.inhibitedBy : (before?.inhibitedBy ?? null);
    const goesOn = event.kind === "holds" && isNotified(before?.phase) && isNotified(phase);
    const escalate = (joined: Incident) =>
      isInhibited ? [] : this.recipients.escalated(rule, joined, subject, observed, inhibitors);
    const known = goesOn && before ? this.addReceivers(before, receivers, escalate, text) : before;
    const isSame = known === before && inhibitedBy === before?.inhibitedBy;
    if (before && isSame && phase === before.phase) return before;
    const { status = null, previousStatus = null } = observed;
    const current = known ?? {
      id: this.newIncidentId(),
      rule: rule.name,
      ruleFingerprint: ruleFingerprint(rule),
      severity: rule.severity,
      receivers: [],
      owed: [],
      inhibitedBy,
      subject,
      status,
      previousStatus,
      startedAtMs: observed.startedAtMs ?? this.atMs,
      firedAtMs: null,
      resolvedAtMs: null,
    };
    const again = current.owed.filter((name) => this.recipients.isNotified(name));
    const applied = applyTransition(current, transition, this.atMs, [...again, ...receivers]);
    const after = { ...applied, inhibitedBy };
    const isOther = step === "resolved" && after.status !== status;
    const shown = isOther ? { ...after, status, previousStatus: after.status } : after;
    // Who was just notified that it fires needs no reminder.
    this.record(shown, step, text, goesOn && before ? before.receivers : undefined);
    if (before && isSilenced)
      return this.reopenSilenced({ ...before, inhibitedBy: inhibition.inhibitedBy }, text);
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
    for (const each of this.flaps.values()) if (!owned.has(each.ruleFingerprint)) this.forget(each);
  }

  /**
   * Deletes the flap records of subjects that settled. To be called after the rules were applied.
   *
   * @param nowMs a reading of the subjects' clock
   */
  forgetSettled(rules: readonly Rule[], nowMs: number): void {
    if (this.flaps.size === 0) return;
    const limits = new Map(rules.map((rule) => [ruleFingerprint(rule), flapLimitOf(rule)]));
    const changed = new Set(this.changedFlaps.map(flapKey));
    for (const [key, each] of this.flaps) {
      if (changed.has(key)) continue;
      const limit = limits.get(each.ruleFingerprint);
      if (limit === undefined) continue;
      const counts = limit && recentEntries(each.enteredMs, nowMs, limit).length > 0;
      if (!counts) this.forget(each);
    }
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
    wanted: readonly string[],
    escalate: (joined: Incident) => readonly EscalationStep[],
    text: ItemText,
  ): Incident {
    const added = wanted.filter((name) => !incident.receivers.includes(name));
    let joined = withNotified(incident, added);
    const escalated = escalate(joined);
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

  private silencing(rule: Rule, subject: Subject, observed: Observed): Silencing | null {
    if (this.silenced.length === 0) return null;
    const facts = silenceFacts(rule, this.target, subject, observed);
    return silencingOf(this.silenced, facts);
  }

  /** An event with what suppresses the notifications of its subject. */
  private whole(
    event: SubjectEvent,
    silencing: Silencing | null,
    before: Incident | undefined,
    reading: FlapReading | null,
    isInhibited: boolean,
  ): IncidentEvent {
    const flapping = reading?.flaps ?? "no";
    if (!("now" in event)) return event;
    if (event.kind !== "holds") return { ...event, flaps: flapping };
    return {
      ...event,
      flaps: flapping,
      silenced: silencing !== null,
      inhibited: isInhibited,
      acknowledged: before !== undefined && this.acknowledgedBy.has(before.id),
    };
  }

  /** The last time that the condition held does not count: its incident did not fire. */
  private uncount(each: FlapRecord | undefined): void {
    if (each) this.changedFlaps.push({ ...each, enteredMs: each.enteredMs.slice(0, -1) });
  }

  private forget(each: FlapRecord): void {
    this.changedFlaps.push({ ...each, enteredMs: [] });
  }
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
