import { IncidentEngine } from "./incident-engine.ts";
import type { AlertOptions, IncidentOutcome, KnownIncidents } from "./incident-engine.ts";
import type { SubjectEvent } from "./incident-phase.ts";
import type { Incident } from "./incident.ts";
import type { PoolSubject } from "./subjects.ts";
import { holdsForPool, poolCondition, type PoolCount } from "./pool.ts";
import type { PoolRule } from "./rule.ts";

/** For how long the pools of a rule that contain servers of the same targets were observed. Milliseconds. */
export interface PoolClock extends Pick<PoolSubject, "region" | "key"> {
  readonly rule: string;
  readonly ms: number;
}

export interface PoolOutcome {
  readonly incidents: IncidentOutcome;
  /** Clocks of pools with open incidents; only these are needed after a restart. */
  readonly clocks: readonly PoolClock[];
}

/** Pools of a rule that are observed together, and may have changed since they were last judged. */
export interface ObservedPools {
  readonly rule: PoolRule;
  /** For how long they were observed. Milliseconds; it goes on after a restart. */
  readonly clockMs: number;
  /** Of each pool the reading of that clock when it was last judged. */
  readonly pools: readonly { readonly pool: PoolCount; readonly judgedAtMs: number }[];
}

/** Decides what pools that were observed as a whole mean for the incidents of their rules. */
export function judgePools(
  observed: readonly ObservedPools[],
  known: KnownIncidents,
  atMs: number,
  options: AlertOptions,
): IncidentOutcome {
  const engine = new IncidentEngine(known, atMs, options);
  for (const { rule, clockMs, pools } of observed) {
    for (const { pool, judgedAtMs } of pools) {
      const holds = holdsForPool(rule, pool);
      const event: SubjectEvent =
        holds === null
          ? { kind: "unobserved", passed: { ms: clockMs - judgedAtMs, polls: 0 } }
          : { kind: holds ? "holds" : "clears", now: { ms: clockMs, polls: 0 } };
      engine.advance(rule, pool.subject, event, { condition: poolCondition(rule, pool) });
    }
  }
  return engine.outcome;
}

/** Ends the incidents that no rule owns any more, and those of pools that are not watched any more. */
export function retirePools(
  rules: readonly PoolRule[],
  known: KnownIncidents,
  isWatched: (incident: Incident) => boolean,
  atMs: number,
  options: AlertOptions,
): IncidentOutcome {
  const engine = new IncidentEngine(known, atMs, options);
  engine.retireUnowned(rules, isWatched);
  return engine.outcome;
}
