import { formatDuration } from "../fleet/text.ts";
import type { Flaps, SubjectEvent } from "./incident-phase.ts";
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

export function recentEntries(
  enteredMs: readonly number[],
  nowMs: number,
  { withinMs }: FlapLimit,
) {
  return enteredMs.filter((each) => nowMs - each < withinMs);
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

/**
 * Counts a subject's entries into a rule's condition when it was observed; otherwise they count for longer.
 *
 * @param before the incident that the rule has for the subject
 * @returns null: there is nothing to count
 */
export function readFlaps(
  known: FlapRecord | undefined,
  rule: Rule,
  subject: Subject,
  event: SubjectEvent,
  before: Incident | undefined,
): FlapReading | null {
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
  const record = { rule: rule.name, ruleFingerprint: ruleFingerprint(rule), subject, enteredMs };
  return {
    flaps: times > limit.changes ? "too_often" : times > 0 ? "recently" : "no",
    frequency: `${times} times in ${formatDuration(limit.withinMs)}`,
    changed: enters ? record : null,
  };
}

/**
 * The record after its incident resolved or settled. The last time that the condition held counts from then on: another one
 * soon after that is flapping, too.
 */
export function flapsAfterEnd(
  known: FlapRecord | undefined,
  rule: Rule,
  subject: Subject,
  nowMs: number,
): FlapRecord | null {
  const limit = flapLimitOf(rule);
  if (!limit) return null;
  const recent = recentEntries(known?.enteredMs ?? [], nowMs, limit);
  const enteredMs = [...recent.slice(0, -1), nowMs];
  return { rule: rule.name, ruleFingerprint: ruleFingerprint(rule), subject, enteredMs };
}

function isClearing({ phase }: Incident): boolean {
  return phase.name === "firing" && phase.clearSinceMs !== null;
}
