import type { FailureReason, Target } from "../fleet/model.ts";
import { IncidentEngine } from "./incident-engine.ts";
import type { AlertOptions, IncidentOutcome, KnownIncidents } from "./incident-engine.ts";
import type { FlapRecord } from "./flap-record.ts";
import type { Incident, Observed } from "./incident.ts";
import { failureText, matchesAny, matchesTarget } from "./rule.ts";
import type { RegionRule, Rule } from "./rule.ts";
import type { RegionDown } from "./silence.ts";
import { someOf } from "../fleet/text.ts";

/** A region as it was last stored. */
export interface StoredRegion {
  /** The targets that were ever polled in it, also those that are not configured any more. */
  readonly targets: readonly RegionTarget[];
  readonly openIncidents: readonly Incident[];
  readonly flaps: readonly FlapRecord[];
}

/** A target of a region as it was last stored. */
export interface RegionTarget {
  readonly target: Target;
  readonly failuresInARow: number;
  /** Null: its last poll did not fail. */
  readonly failure: {
    /** When the first of these polls ended. UTC milliseconds. */
    readonly sinceMs: number;
    /** When the last of them ended, also if nothing was sent by it as the key is refused. UTC milliseconds. */
    readonly lastMs: number;
    readonly reason: FailureReason;
    /** Of the response; null: there was none. */
    readonly status: number | null;
  } | null;
  readonly servers: number;
}

export interface RegionState extends KnownIncidents {
  readonly region: string;
  readonly targets: readonly RegionTarget[];
}

export interface RegionOptions extends AlertOptions {
  readonly rules: readonly Rule[];
}

/**
 * Decides whether a region fails as a whole: at least half of its targets, and at least two, have failed for as long as
 * the rule says.
 *
 * @param atMs UTC milliseconds; also the clock of the rule's other durations
 */
export function judgeRegion(
  state: RegionState,
  atMs: number,
  options: RegionOptions,
): { readonly incidents: IncidentOutcome; readonly down: readonly RegionDown[] } {
  const { region, targets } = state;
  const engine = new IncidentEngine(state, atMs, options);
  const now = { ms: atMs, polls: 0 };
  const down: RegionDown[] = [];
  // A region or a key that is not configured any more is not observed.
  const rules = rulesOnRegion(options.rules, region).filter((rule) =>
    targets.some(({ target }) => matchesTarget(rule.match, target)),
  );
  engine.retireUnowned(rules);
  for (const rule of rules) {
    const subject = { kind: "region", region } as const;
    const failure = regionText(rule, targets, atMs);
    const event = { kind: failure ? "holds" : "clears", now } as const;
    const observed = failure ?? { condition: endedCondition(rule, targets) };
    const incident = engine.advance(rule, subject, event, observed);
    if (failure && incident?.phase.name === "firing")
      down.push({ incidentId: incident.id, rule: rule.name });
  }
  engine.flaps.forgetSettled(rules, atMs);
  return { incidents: engine.outcome, down };
}

/**
 * How a region fails as a whole at present, such as "all 12 keys failing" because of "HTTP 503", or "6 of 12 keys failing"
 * because of "HTTP 503: batch, research and 4 more"; null: it does not. It began when the last target that is needed for that did.
 */
export function regionText(
  rule: RegionRule,
  targets: readonly RegionTarget[],
  atMs: number,
): Observed | null {
  const about = targets.filter(({ target }) => matchesTarget(rule.match, target));
  const least = Math.max(leastTargets, Math.ceil(about.length / 2));
  const failing = about
    .filter(isFailing)
    .toSorted((one, other) => one.failure.sinceMs - other.failure.sinceMs);
  const last = failing.filter((each) => hasHeld(rule, each))[least - 1];
  if (last === undefined) return null;
  const areAll = failing.length === about.length;
  const reasons = failing.map(({ failure }) => failureText(failure.reason, failure.status));
  const why = [...new Set(reasons)].toSorted().join(", ");
  const names = areAll ? "" : `: ${someOf(failing.map(({ target }) => target.key))}`;
  return {
    condition: `${areAll ? allText(failing.length) : `${failing.length} of ${about.length}`} keys failing`,
    detail: `${why}${names}`,
    unmonitored: failing.reduce((sum, each) => sum + each.servers, 0),
    // Not in the future, where the wall clock was set back.
    startedAtMs: Math.min(atMs, last.failure.sinceMs),
  };
}

/** The rules on regions that are about a region. */
export function rulesOnRegion(rules: readonly Rule[], region: string): readonly RegionRule[] {
  return rules
    .filter((rule) => rule.on === "region")
    .filter(({ match }) => matchesAny(match.region, region));
}

/** One target that fails is an incident of its own. */
const leastTargets = 2;

type FailingTarget = RegionTarget & { readonly failure: NonNullable<RegionTarget["failure"]> };

function isFailing(target: RegionTarget): target is FailingTarget {
  return target.failure !== null;
}

/** Time without polls proves nothing: a duration has passed when a poll that failed shows it. */
function hasHeld({ for: hold }: RegionRule, { failuresInARow, failure }: FailingTarget): boolean {
  return hold.kind === "polls"
    ? failuresInARow >= hold.polls
    : failure.lastMs - failure.sinceMs >= hold.ms;
}

/** What does not hold any more, though some of its targets may fail. */
function endedCondition({ match }: RegionRule, targets: readonly RegionTarget[]): string {
  const about = targets.filter(({ target }) => matchesTarget(match, target));
  return about.some(isFailing) ? "failing as a whole" : "failing";
}

function allText(count: number): string {
  return count === 2 ? "both" : `all ${count}`;
}
