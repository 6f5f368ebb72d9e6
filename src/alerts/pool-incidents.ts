import { takeOn } from "./incident-engine.ts";
import type { IncidentOutcome } from "./incident-engine.ts";
import { keyOfIncident } from "./incident.ts";
import type { Incident } from "./incident.ts";
import { scopeOf } from "./pool.ts";

/** The open incidents of pools. */
export interface PoolIncidents {
  /** By `incidentKey`. */
  readonly all: ReadonlyMap<string, Incident>;
  /** Those of a rule's pools of one scope: every poll asks, and there may be very many others. */
  ofScope(rule: string, scope: string): Iterable<Incident>;
  takeOn(outcome: Pick<IncidentOutcome, "written" | "dropped">): void;
}

export function createPoolIncidents(open: readonly Incident[]): PoolIncidents {
  const all = new Map<string, Incident>();
  const byScope = new Map<string, Map<string, Incident>>();

  const set = (incident: Incident): void => {
    const key = keyOfIncident(incident);
    const scope = scopeKeyOf(incident);
    all.set(key, incident);
    byScope.set(scope, (byScope.get(scope) ?? new Map<string, Incident>()).set(key, incident));
  };
  const remove = (incident: Incident): void => {
    const key = keyOfIncident(incident);
    all.delete(key);
    byScope.get(scopeKeyOf(incident))?.delete(key);
  };
  open.forEach(set);

  return {
    all,
    ofScope: (rule, scope) => byScope.get(scopeKey(rule, scope))?.values() ?? [],
    takeOn: (outcome) => takeOn(outcome, { set, remove }),
  };
}

/** Which rule and scope an incident belongs to, as one text. */
export function scopeKeyOf({ rule, subject }: Incident): string {
  return scopeKey(rule, subject.kind === "pool" ? scopeOf(subject) : "");
}

export function scopeKey(rule: string, scope: string): string {
  return JSON.stringify([rule, scope]);
}
