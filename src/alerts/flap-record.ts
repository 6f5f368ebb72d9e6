import { formatDuration } from "../fleet/duration.ts";
import type { Flaps, SubjectEvent } from "./incident-phase.ts";
import { incidentKey, type Incident, type Subject } from "./incident.ts";
import { ruleFingerprint, type FlapLimit, type Rule } from "./rule.ts";

/** When a subject recently entered a rule's condition, as far as it decides whether it flaps. */
export interface FlapRecord {
  readonly rule: string;
  readonly ruleFingerprint: string;
  readonly subject: Subject;
  /** Readings of the subject's clock, milliseconds, oldest first. Empty: the record is to be deleted. */
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
  return rule.on === "server" || rule.on === "probe" ? rule.flap : null;
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
  if (!limit || (event.kind !== "holds" && event.kind !== "clears")) return null;
  if (!known && event.kind === "clears") return null;
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

function isClearing({ phase }: Incident): boolean {
  return phase.name === "firing" && phase.clearSinceMs !== null;
}
