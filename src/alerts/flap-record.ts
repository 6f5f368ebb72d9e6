import { incidentKey } from "./incident.ts";
import type { Subject } from "./incident.ts";
import type { FlapLimit } from "./rule.ts";

/** When a server entered a rule's condition of late, as far as it decides whether it flaps. */
export interface FlapRecord {
  readonly rule: string;
  readonly ruleFingerprint: string;
  readonly subject: Subject;
  /** Readings of the server's clock, milliseconds, oldest first. Empty: it need not be kept. */
  readonly enteredMs: readonly number[];
}

export function flapKey({ rule, subject }: FlapRecord): string {
  return incidentKey(rule, subject);
}

/** The record with one more entry, and without those that lie too far back to count. */
export function enter(record: FlapRecord, nowMs: number, limit: FlapLimit): FlapRecord {
  const recent = record.enteredMs.filter((enteredMs) => nowMs - enteredMs < limit.withinMs);
  // More than are needed to tell that it flaps would only grow.
  return { ...record, enteredMs: [...recent, nowMs].slice(-limit.changes - 1) };
}

/** How many entries of the record still count. */
export function recentEntries({ enteredMs }: FlapRecord, nowMs: number, limit: FlapLimit): number {
  return enteredMs.filter((each) => nowMs - each < limit.withinMs).length;
}

/** Whether the server entered the condition more often than the limit allows. */
export function exceeds(record: FlapRecord, nowMs: number, limit: FlapLimit): boolean {
  return recentEntries(record, nowMs, limit) > limit.changes;
}

/** Whether nothing in the record counts any more: one that flapped has settled. */
export function isPast({ enteredMs }: FlapRecord, nowMs: number, limit: FlapLimit): boolean {
  return enteredMs.every((each) => nowMs - each >= limit.withinMs);
}

/** The record as if the subject's clock had stood still for so long. */
export function shifted(record: FlapRecord, ms: number): FlapRecord {
  return { ...record, enteredMs: record.enteredMs.map((each) => each + ms) };
}
