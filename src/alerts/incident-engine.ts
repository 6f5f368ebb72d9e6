import type { Target } from "../fleet/model.ts";
import { wants, type ConfiguredReceivers } from "./configured-receivers.ts";
import { flapKey, flapLimitOf, flapsAfterEnd, readFlaps, recentEntries } from "./flap-record.ts";
import type { FlapReading, FlapRecord } from "./flap-record.ts";
import { advanceIncident, goesOnFiring } from "./incident-phase.ts";
import type { ClockReading, IncidentEvent, IncidentPhase } from "./incident-phase.ts";
import type { IncidentStep, IncidentTiming, SubjectEvent, Transition } from "./incident-phase.ts";
import { conditionOfIncident, incidentKey, notifiedIncident } from "./incident.ts";
import type { Incident } from "./incident.ts";
import { plainText } from "./notification.ts";
import type { IncidentMessage, ItemText, OutboxItem } from "./notification.ts";
import { textOf, type Observed } from "./observed.ts";
import { createRecipients, notInhibited, type Inhibitor } from "./recipients.ts";
import { ruleFingerprint, type EscalationStep, type Hold, type Rule } from "./rule.ts";
import { silenceFacts, silences, type Silencing, type Suppressions } from "./silence.ts";
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

const untimed: IncidentTiming = {
  hold: { kind: "duration", ms: 0 },
  keepFiringForMs: 0,
  remindEveryMs: null,
};

export type IncidentEngine = ReturnType<typeof createIncidentEngine>;

/** Applies rules to what was observed of subjects at one moment (UTC milliseconds). */
export function createIncidentEngine(
  { target = null, incidents, flaps }: KnownIncidents & { readonly target?: Target | null },
  atMs: number,
  { receivers: configured, suppressions, newIncidentId }: AlertOptions,
) {
  const written: Incident[] = [];
  const dropped: Incident[] = [];
  const changedFlaps: FlapRecord[] = [];
  const steps: IncidentOutcome["steps"][number][] = [];
  const outbox: OutboxItem[] = [];
  const retired = new Set<Incident>();
  /** The incidents that changed, by `incidentKey`. */
  const latest = new Map<string, Incident>();
  const { silenced, acknowledgedBy } = suppressions;
  const recipients = createRecipients(configured, target, atMs, acknowledgedBy);
  const outcome: IncidentOutcome = { written, dropped, flaps: changedFlaps, steps, outbox };

  const notify = (
    incident: Incident,
    type: IncidentMessage,
    receivers: readonly string[],
    text: ItemText,
  ): void => {
    const { id, rule, severity } = incident;
    const notified = notifiedIncident(target, incident, acknowledgedBy.get(id) ?? null);
    const item = { type, rule, severity, ...text, incident: notified, causedAtMs: atMs };
    for (const receiver of receivers) {
      // What goes on can wait until the receiver is open. What it was notified of ends at any time.
      if (type !== "incident.resolved" && !recipients.isOpen(receiver)) continue;
      if (wants(configured, receiver, type)) outbox.push({ receiver, ...item });
    }
  };

  const record = (
    incident: Incident,
    step: IncidentStep | null,
    text: ItemText,
    notified = incident.receivers,
  ): void => {
    latest.set(incidentKey(incident.rule, incident.subject), incident);
    if (step === "dropped") dropped.push(incident);
    else written.push(incident);
    if (step === null) return;
    steps.push({ step, incident });
    const type = messageOfStep[step];
    if (type !== undefined) notify(incident, type, notified, text);
  };

  /**
   * Notifies receivers that did not exist, were not named by the rule or were closed when the incident fired, and those of
   * the steps of its escalation that are due.
   */
  const addReceivers = (
    incident: Incident,
    wanted: readonly string[],
    escalate: (joined: Incident) => readonly EscalationStep[],
    text: ItemText,
  ): Incident => {
    const added = wanted.filter((name) => !incident.receivers.includes(name));
    const joined = { ...incident, receivers: [...incident.receivers, ...added] };
    const escalated = escalate(joined);
    if (added.length + escalated.length === 0) return incident;
    notify(incident, "incident.firing", added, text);
    for (const { afterMs, receivers } of escalated) {
      notify(incident, "incident.firing", receivers, { ...text, escalatedAfterMs: afterMs });
      joined.receivers.push(...receivers);
    }
    if (escalated.length > 0) steps.push({ step: "escalated", incident: joined });
    return joined;
  };

  /**
   * A silence ended a notified incident. Opens another one, as the condition still holds. Nobody was notified of it yet;
   * receivers whose alert stays open are owed its end.
   */
  const reopenSilenced = (incident: Incident, text: ItemText): Incident => {
    if (incident.phase.name !== "firing") return incident;
    const phase = { ...incident.phase, clearSinceMs: null, notifiedAtMs: null };
    const id = newIncidentId();
    const receivers = incident.receivers.filter((name) => configured.get(name)?.keepsAlert);
    const muted = { ...incident, id, phase, receivers, firedAtMs: null };
    record(muted, "muted", text);
    return muted;
  };

  /** The silence that ends last of those that match. */
  const silencingOf = (rule: Rule, subject: Subject, observed: Observed): Silencing | null => {
    if (silenced.length === 0) return null;
    const facts = silenceFacts(rule, target, subject, observed);
    return silenced
      .filter(({ match }) => silences(match, facts))
      .reduce<Silencing | null>(
        (last, each) => (last && last.endsAtMs >= each.endsAtMs ? last : each),
        null,
      );
  };

  /** An event with what suppresses the notifications of its subject. */
  const whole = (
    event: SubjectEvent,
    silencing: Silencing | null,
    before: Incident | undefined,
    reading: FlapReading | null,
    isInhibited: boolean,
  ): IncidentEvent => {
    const flapping = reading?.flaps ?? "no";
    if (!("now" in event)) return event;
    if (event.kind !== "holds") return { ...event, flaps: flapping };
    return {
      ...event,
      flaps: flapping,
      silenced: silencing !== null,
      inhibited: isInhibited,
      acknowledged: before !== undefined && acknowledgedBy.has(before.id),
    };
  };

  /** The last time that the condition held does not count: its incident did not fire. */
  const uncount = (each: FlapRecord | undefined): void => {
    if (each) changedFlaps.push({ ...each, enteredMs: each.enteredMs.slice(0, -1) });
  };

  const forget = (each: FlapRecord): void => void changedFlaps.push({ ...each, enteredMs: [] });

  return {
    outcome,

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
      const open = incidents.get(key);
      const before = open && !retired.has(open) ? open : undefined;
      const reading = readFlaps(flaps.get(key), rule, subject, event, before);
      const wanted = event.kind === "holds" ? recipients.informed(rule, subject, observed) : [];
      const inhibition = notInhibited(wanted, inhibitors, before);
      const { isInhibited } = inhibition;
      const receivers = inhibition.receivers.filter(recipients.isOpen);
      const silencing = event.kind === "holds" ? silencingOf(rule, subject, observed) : null;
      const transition = advanceIncident(
        before?.phase ?? null,
        whole(event, silencing, before, reading, isInhibited),
        timingOf(rule),
      );
      const { phase, step } = transition;
      const hasEnded = (step === "resolved" || step === "settled") && "now" in event;
      const flapsNow = hasEnded
        ? flapsAfterEnd(reading?.changed ?? flaps.get(key), rule, subject, event.now.ms)
        : reading?.changed;
      if (flapsNow) changedFlaps.push(flapsNow);
      if (step === "dropped" && flapLimitOf(rule)?.firingOnly) uncount(flaps.get(key));
      if (!before && phase === null) return null;
      const isSilenced = phase?.name === "resolved" && phase.reason === "silenced";
      const action = isSilenced &&
        silencing && { action: { by: silencing.by, untilMs: silencing.endsAtMs } };
      const settled = step === "settled" && { hasSettled: true as const };
      const text = { ...textOf(rule, observed, phase, reading), ...action, ...settled };
      const isFiring = event.kind === "holds" && phase?.name === "firing";
      const inhibitedBy = isFiring ? inhibition.inhibitedBy : (before?.inhibitedBy ?? null);
      const goesOn = event.kind === "holds" && isNotified(before?.phase) && isNotified(phase);
      const escalate = (joined: Incident) =>
        isInhibited ? [] : recipients.escalated(rule, joined, subject, observed, inhibitors);
      const known = goesOn && before ? addReceivers(before, receivers, escalate, text) : before;
      const isSame = known === before && inhibitedBy === before?.inhibitedBy;
      if (before && isSame && phase === before.phase) return before;
      const { status = null, previousStatus = null } = observed;
      const current = known ?? {
        id: newIncidentId(),
        rule: rule.name,
        ruleFingerprint: ruleFingerprint(rule),
        severity: rule.severity,
        receivers: [],
        inhibitedBy,
        subject,
        status,
        previousStatus,
        startedAtMs: observed.startedAtMs ?? atMs,
        firedAtMs: null,
        resolvedAtMs: null,
      };
      const after = { ...applyTransition(current, transition, atMs, receivers), inhibitedBy };
      const isOther = step === "resolved" && after.status !== status;
      const shown = isOther ? { ...after, status, previousStatus: after.status } : after;
      // Who was just notified that it fires needs no reminder.
      record(shown, step, text, goesOn && before ? before.receivers : undefined);
      if (before && isSilenced)
        return reopenSilenced({ ...before, inhibitedBy: inhibition.inhibitedBy }, text);
      return phase === null ? null : after;
    },

    /** The incident of a rule and a subject after what was applied so far. It may have ended. */
    current({ name }: Rule, subject: Subject): Incident | undefined {
      const key = incidentKey(name, subject);
      return latest.get(key) ?? incidents.get(key);
    },

    /** Those who are notified of the incidents of a rule, now or once they are open. */
    informed: recipients.informed,

    goesOn: (rule: Rule, incident: Incident, now: ClockReading) =>
      silenced.length === 0 &&
      incident.inhibitedBy === null &&
      goesOnFiring(incident.phase, now, rule.remindEveryMs) &&
      !recipients.mayJoin(rule, incident),

    /** Ends the incidents that none of these rules owns, and deletes flap records that none owns. */
    retireUnowned(rules: readonly Rule[], isOwned?: (incident: Incident) => boolean): void {
      const owned = new Set(rules.map(ruleFingerprint));
      for (const incident of incidents.values()) {
        if (owned.has(incident.ruleFingerprint) && (isOwned?.(incident) ?? true)) continue;
        retired.add(incident);
        const transition = advanceIncident(incident.phase, { kind: "rule_removed" }, untimed);
        const after = applyTransition(incident, transition, atMs, incident.receivers);
        record(after, transition.step, {
          ...plainText,
          condition: conditionOfIncident(incident),
        });
      }
      for (const each of flaps.values()) if (!owned.has(each.ruleFingerprint)) forget(each);
    },

    /**
     * Deletes the flap records of subjects that settled. To be called after the rules were applied.
     *
     * @param nowMs a reading of the subjects' clock
     */
    forgetSettled(rules: readonly Rule[], nowMs: number): void {
      if (flaps.size === 0) return;
      const limits = new Map(rules.map((rule) => [ruleFingerprint(rule), flapLimitOf(rule)]));
      const changed = new Set(changedFlaps.map(flapKey));
      for (const [key, each] of flaps) {
        if (changed.has(key)) continue;
        const limit = limits.get(each.ruleFingerprint);
        if (limit === undefined) continue;
        const counts = limit && recentEntries(each.enteredMs, nowMs, limit).length > 0;
        if (!counts) forget(each);
      }
    },
  };
}

function isNotified(phase: IncidentPhase | null | undefined): boolean {
  return phase?.name === "firing" && phase.notifiedAtMs !== null;
}

function applyTransition(
  incident: Omit<Incident, "phase">,
  { phase, step }: Transition,
  atMs: number,
  receivers: readonly string[],
): Incident {
  if (phase === null) return { ...incident, phase: { name: "resolved", reason: "recovered" } };
  // Receivers whose alert stayed open during a silence are owed its end.
  const notified = new Set([...incident.receivers, ...receivers]);
  const fired = step === "fired" && { firedAtMs: atMs, receivers: [...notified] };
  return { ...incident, phase, ...fired, ...(step === "resolved" && { resolvedAtMs: atMs }) };
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
