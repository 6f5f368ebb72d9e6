import { formatDuration } from "../fleet/text.ts";
import type { Flaps, IncidentStep, SubjectEvent } from "./incident-phase.ts";
import { incidentKey, type Incident } from "./incident.ts";
import { ruleFingerprint, type FlapLimit, type Rule } from "./rule.ts";
import type { Subject } from "./subjects.ts";

/** When a rule's condition recently held for a subject, as far as it decides whether it flaps. */
export interface FlapRecord {
  readonly rule: string;
  readonly ruleFingerprint: string;
  readonly subject: Subject;
  /**
   * When the condition began to hold, or if that was notified, when its incident resolved or settled: readings of the
   * subject's clock, milliseconds, oldest first. Empty: the record is to be deleted.
   */
  readonly enteredMs: readonly number[];
}

export function flapKey({ rule, subject }: FlapRecord): string {
  return incidentKey(rule, subject);
}

export function flapLimitOf(rule: Rule): FlapLimit | null {
  return "flap" in rule ? rule.flap : null;
}

export interface FlapReading {
  readonly flaps: Flaps;
  /** In words: "7 times in 10m". */
  readonly frequency: string;
  readonly changed: FlapRecord | null;
}

/** Counts how often conditions of rules begin to hold for subjects. */
export class FlapRegistry {
  /** Those without entries are to be deleted. */
  readonly changed: FlapRecord[] = [];
  /** By `incidentKey`. */
  private readonly known: ReadonlyMap<string, FlapRecord>;

  constructor(known: ReadonlyMap<string, FlapRecord>) {
    this.known = known;
  }

  /**
   * Reads a subject's entries into a rule's condition, with the one at this moment, when it was observed; otherwise they count
   * for longer.
   *
   * @param before the incident that the rule has for the subject
   * @returns null: there is nothing to count
   */
  read(
    rule: Rule,
    subject: Subject,
    event: SubjectEvent,
    before: Incident | undefined,
  ): FlapReading | null {
    const known = this.knownOf(rule, subject);
    const limit = flapLimitOf(rule);
    if (event.kind === "unobserved" && before && known && event.passed.ms > 0) {
      const enteredMs = known.enteredMs.map((each) => each + event.passed.ms);
      return { flaps: "no", frequency: "", changed: { ...known, enteredMs } };
    }
    if (!limit || !("now" in event)) return null;
    if (!known && event.kind !== "holds") return null;
    const { ms } = event.now;
    const recent = recentEntries(known?.enteredMs ?? [], ms, limit);
    const enters = event.kind === "holds" && (!before || isClearing(before));
    // More than decide whether it flaps would only grow.
    const enteredMs = enters ? [...recent, ms].slice(-limit.changes - 1) : recent;
    const times = enteredMs.length;
    return {
      flaps: times > limit.changes ? "too_often" : times > 0 ? "recently" : "no",
      frequency: `${times} times in ${formatDuration(limit.withinMs)}`,
      changed: enters ? recordOf(rule, subject, enteredMs) : null,
    };
  }

  /** Records what was read, as the incident's step changes it. */
  count(
    rule: Rule,
    subject: Subject,
    event: SubjectEvent,
    reading: FlapReading | null,
    step: IncidentStep | null,
  ): void {
    const limit = flapLimitOf(rule);
    const known = reading?.changed ?? this.knownOf(rule, subject);
    if (limit && "now" in event && (step === "resolved" || step === "settled")) {
      // The last time that the condition held counts from its end on: another one soon after that is flapping, too.
      const recent = recentEntries(known?.enteredMs ?? [], event.now.ms, limit);
      this.changed.push(recordOf(rule, subject, [...recent.slice(0, -1), event.now.ms]));
    } else if (step === "dropped" && known && limit?.firingOnly) {
      // The last time that the condition held does not count: its incident did not fire.
      this.changed.push({ ...known, enteredMs: known.enteredMs.slice(0, -1) });
    } else if (reading?.changed) {
      this.changed.push(reading.changed);
    }
  }

  /** Deletes the records of rules other than these. */
  forgetUnowned(fingerprints: ReadonlySet<string>): void {
    for (const each of this.known.values())
      if (!fingerprints.has(each.ruleFingerprint)) this.forget(each);
  }

  /**
   * Deletes the records of subjects that settled. To be called after the rules were applied.
   *
   * @param nowMs a reading of the subjects' clock
   */
  forgetSettled(rules: readonly Rule[], nowMs: number): void {
    if (this.known.size === 0) return;
    const limits = new Map(rules.map((rule) => [ruleFingerprint(rule), flapLimitOf(rule)]));
    const changed = new Set(this.changed.map(flapKey));
    for (const [key, each] of this.known) {
      if (changed.has(key)) continue;
      const limit = limits.get(each.ruleFingerprint);
      if (limit === undefined) continue;
      const counts = limit && recentEntries(each.enteredMs, nowMs, limit).length > 0;
      if (!counts) this.forget(each);
    }
  }

  private knownOf({ name }: Rule, subject: Subject): FlapRecord | undefined {
    return this.known.get(incidentKey(name, subject));
  }

  private forget(each: FlapRecord): void {
    this.changed.push({ ...each, enteredMs: [] });
  }
}

function recordOf(rule: Rule, subject: Subject, enteredMs: readonly number[]): FlapRecord {
  return { rule: rule.name, ruleFingerprint: ruleFingerprint(rule), subject, enteredMs };
}

function recentEntries(enteredMs: readonly number[], nowMs: number, { withinMs }: FlapLimit) {
  return enteredMs.filter((each) => nowMs - each < withinMs);
}

function isClearing({ phase }: Incident): boolean {
  return phase.name === "firing" && phase.clearSinceMs !== null;
}
