import { formatDuration } from "../fleet/duration.ts";
import { enter, exceeds, isPast, recentEntries, shifted } from "./flap-record.ts";
import type { FlapRecord } from "./flap-record.ts";
import type { ClockReading, Flaps } from "./incident-phase.ts";
import { incidentKey } from "./incident.ts";
import type { Incident, Subject } from "./incident.ts";
import { ruleFingerprint } from "./matching.ts";
import type { FlapLimit, Rule } from "./rule.ts";

/** What is known of a subject's entering and leaving a rule's condition. */
export interface FlapReading {
  readonly flaps: Flaps;
  /** In words: "7 times in 10m". */
  readonly frequency: string;
}

/** Writes down when subjects enter the conditions of rules with a limit on that. */
export interface FlapRegistry {
  /** The subject was seen, and the condition holds or not. Null: there is nothing to count. */
  see(rule: Rule, subject: Subject, holds: Holding): FlapReading | null;
  /** Time passed in which the subject was not seen: what of late it did is that much later. */
  pass(rule: Rule, subject: Subject, ms: number): void;
  forget(record: FlapRecord): void;
  /** Changed records; those without entries are to be forgotten. */
  readonly changed: readonly FlapRecord[];
}

export interface Holding {
  readonly holds: boolean;
  readonly now: ClockReading;
  /** The incident that the rule has for the subject. */
  readonly before: Incident | undefined;
}

/** @param known by `incidentKey` */
export function createFlapRegistry(known: ReadonlyMap<string, FlapRecord>): FlapRegistry {
  const changed: FlapRecord[] = [];

  const seeLimited = (
    rule: Rule,
    subject: Subject,
    { holds, now, before }: Holding,
    limit: FlapLimit,
  ): FlapReading | null => {
    const past = known.get(incidentKey(rule.name, subject));
    if (!past && !holds) return null;
    let record = past ?? blankRecord(rule, subject);
    if (holds && enters(before)) {
      record = enter({ ...record, subject }, now.ms, limit);
      changed.push(record);
    }
    const times = recentEntries(record, now.ms, limit);
    return {
      flaps: flapsOf(record, now, limit),
      frequency: `${times} times in ${formatDuration(limit.withinMs)}`,
    };
  };

  return {
    see(rule, subject, holding) {
      const limit = rule.on === "server" || rule.on === "probe" ? rule.flap : null;
      return limit && seeLimited(rule, subject, holding, limit);
    },
    pass(rule, subject, ms) {
      const record = known.get(incidentKey(rule.name, subject));
      if (record && ms > 0) changed.push(shifted(record, ms));
    },
    forget: (record) => changed.push({ ...record, enteredMs: [] }),
    changed,
  };
}

function blankRecord(rule: Rule, subject: Subject): FlapRecord {
  return { rule: rule.name, ruleFingerprint: ruleFingerprint(rule), subject, enteredMs: [] };
}

/** Whether a condition that is seen to hold did not hold when it was last seen. */
function enters(before: Incident | undefined): boolean {
  if (!before) return true;
  return before.phase.name === "firing" && before.phase.clearSinceMs !== null;
}

function flapsOf(record: FlapRecord, now: ClockReading, limit: FlapLimit): Flaps {
  if (exceeds(record, now.ms, limit)) return "too_often";
  return isPast(record, now.ms, limit) ? "no" : "of_late";
}
