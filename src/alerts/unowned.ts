import { conditionOfIncident } from "./condition.ts";
import { flapKey, isPast } from "./flap-record.ts";
import type { FlapRecord } from "./flap-record.ts";
import type { IncidentEngine } from "./incident-engine.ts";
import type { Incident } from "./incident.ts";
import { ruleFingerprint } from "./matching.ts";
import type { FlapLimit, Rule } from "./rule.ts";

/** Ends the incidents of subjects that none of these rules own, and forgets what else they left. */
export function retireUnowned(
  engine: IncidentEngine,
  known: {
    readonly incidents: ReadonlyMap<string, Incident>;
    readonly flaps: ReadonlyMap<string, FlapRecord>;
  },
  rules: readonly Rule[],
): void {
  const owned = new Set(rules.map(ruleFingerprint));
  for (const incident of known.incidents.values()) {
    if (!owned.has(incident.ruleFingerprint)) {
      engine.retire(incident, conditionOfIncident(incident));
    }
  }
  for (const record of known.flaps.values()) {
    if (!owned.has(record.ruleFingerprint)) engine.forget(record);
  }
}

/**
 * Forgets when subjects entered a rule's condition, of those that are gone or did not enter it for so
 * long that they settled. To be called after the rules were applied.
 *
 * @param nowMs a reading of the subjects' clock
 */
export function forgetSettled(
  engine: IncidentEngine,
  flaps: ReadonlyMap<string, FlapRecord>,
  nowMs: number,
  rules: readonly (Rule & { readonly flap: FlapLimit | null })[],
  isGone: (record: FlapRecord) => boolean = () => false,
): void {
  if (flaps.size === 0) return;
  const limits = new Map(rules.map((rule) => [ruleFingerprint(rule), rule.flap]));
  const written = new Set(engine.outcome.flaps.map(flapKey));
  for (const [key, record] of flaps) {
    if (written.has(key)) continue;
    const limit = limits.get(record.ruleFingerprint);
    if (!limit || isGone(record) || isPast(record, nowMs, limit)) engine.forget(record);
  }
}
