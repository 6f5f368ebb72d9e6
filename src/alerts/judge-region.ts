import type { FailureReason, Target } from "../fleet/model.ts";
import { createIncidentEngine } from "./incident-engine.ts";
import type { AlertOptions, IncidentOutcome, KnownIncidents } from "./incident-engine.ts";
import type { Inhibitor } from "./recipients.ts";
import type { FlapRecord } from "./flap-record.ts";
import { incidentKey, type Incident } from "./incident.ts";
import type { Observed } from "./observed.ts";
import { failureText, matchesAny, matchesTarget, ruleFingerprint } from "./rule.ts";
import type { RegionRule, Rule } from "./rule.ts";
import type { FailureKind, Joining, RegionDown, RegionsDown } from "./silence.ts";
import type { Subject } from "./subjects.ts";
import type { TargetState } from "./target-state.ts";
import { someOf } from "./template.ts";

function kindOf(reason: FailureReason): FailureKind {
  return reason === "auth" || reason === "rate_limited" ? reason : "outage";
}

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
  /** The interval of polls. Milliseconds. */
  readonly intervalMs: number;
}

export interface RegionOptions extends AlertOptions {
  readonly rules: readonly Rule[];
}

/**
 * Decides whether a region fails as a whole. A rule begins to hold when at least two targets fail for the same kind
 * of reason, each within two intervals of another, and one of them has failed for long enough. It holds while two fail.
 * Keys that are refused or limited are a failure of their region only if they are half of its targets.
 *
 * @param atMs UTC milliseconds; also the clock of the rule's other durations
 */
export function judgeRegion(
  state: RegionState,
  atMs: number,
  options: RegionOptions,
): { readonly incidents: IncidentOutcome; readonly down: readonly RegionDown[] } {
  const { region, targets, incidents } = state;
  const engine = createIncidentEngine(state, atMs, options);
  const now = { ms: atMs, polls: 0 };
  const down: RegionDown[] = [];
  // A region or a key that is not configured any more is not observed.
  const rules = rulesOnRegion(options.rules, region).filter((rule) =>
    targets.some(({ target }) => matchesTarget(rule.match, target)),
  );
  engine.retireUnowned(rules);
  for (const rule of rules) {
    const about = targets.filter(({ target }) => matchesTarget(rule.match, target));
    const subject = { kind: "region", region } as const;
    const open = incidents.get(incidentKey(rule.name, subject));
    const isOpen = open?.ruleFingerprint === ruleFingerprint(rule);
    const failing = isOpen ? failingAlike(about) : commonFailure(rule, about, state);
    const holds = failing.length >= leastTargets;
    const observed = holds
      ? observationOf(failing, about, atMs)
      : { condition: endedCondition(about) };
    const event = { kind: holds ? "holds" : "clears", now } as const;
    const incident = engine.advance(rule, subject, event, observed);
    if (incident?.phase.name === "firing") down.push(downOf(incident, failing, about, state));
  }
  engine.forgetSettled(rules, atMs);
  return { incidents: engine.outcome, down };
}

function downOf(
  { id, rule }: Incident,
  failing: readonly FailingTarget[],
  about: readonly RegionTarget[],
  state: Pick<RegionState, "intervalMs">,
): RegionDown {
  const kinds = byKind(failing)
    .entries()
    .map(([kind, some]) => [kind, joiningOf(some, about.length, state)] as const);
  return { incidentId: id, rule, kinds: new Map(kinds) };
}

/** What a region's incident is about at present; null: the region does not fail as a whole any more. */
export function regionText(
  rule: RegionRule,
  targets: readonly RegionTarget[],
  atMs: number,
): Observed | null {
  const about = targets.filter(({ target }) => matchesTarget(rule.match, target));
  const failing = failingAlike(about);
  return failing.length < leastTargets ? null : observationOf(failing, about, atMs);
}

/** The rules on regions that are about a region. */
export function rulesOnRegion(rules: readonly Rule[], region: string): readonly RegionRule[] {
  return rules
    .filter((rule) => rule.on === "region")
    .filter(({ match }) => matchesAny(match.region, region));
}

/**
 * The incidents of a target's region of which its failure is a consequence: it began to fail soon after the others, or
 * while half of the region failed. That many more fail later is another cause, of which receivers must be notified. A
 * target that was part of it stays down with the region, in whatever way it fails then.
 */
export function regionInhibitors(
  trouble: "auth" | "failing",
  regionsDown: RegionsDown,
  rules: readonly Rule[],
  { target, incidents }: Pick<TargetState, "target" | "incidents">,
  { lastFailure, failingSinceMs }: Pick<TargetState["progress"], "lastFailure" | "failingSinceMs">,
  informed: (rule: Rule, subject: Subject) => readonly string[],
): readonly Inhibitor[] {
  if (lastFailure === null || failingSinceMs === null) return [];
  const isInhibitedBy = (id: string): boolean =>
    incidents.values().some(({ inhibitedBy }) => inhibitedBy === id);
  return (regionsDown.get(target.region) ?? []).flatMap(({ incidentId, rule: name, kinds }) => {
    const rule = rules.find((each) => each.name === name);
    if (!rule || !matchesTarget(rule.match, target)) return [];
    const joining = kinds.get(kindOf(lastFailure));
    const isPart =
      joining && (failingSinceMs <= joining.untilMs || failingSinceMs > joining.afterMs);
    const mayGoOn = joining || (trouble === "failing" && kinds.size > 0);
    const isInhibited = isPart || (mayGoOn && isInhibitedBy(incidentId));
    if (!isInhibited) return [];
    return [{ incidentId, receivers: informed(rule, { kind: "region", region: target.region }) }];
  });
}

/** One target that fails is an incident of its own. */
const leastTargets = 2;

type FailingTarget = RegionTarget & { readonly failure: NonNullable<RegionTarget["failure"]> };

function isFailing(target: RegionTarget): target is FailingTarget {
  return target.failure !== null;
}

/** Of each kind in the order in which they began to fail. */
function byKind(about: readonly RegionTarget[]): ReadonlyMap<FailureKind, FailingTarget[]> {
  const failing = about
    .filter(isFailing)
    .toSorted((one, other) => one.failure.sinceMs - other.failure.sinceMs);
  return Map.groupBy(failing, ({ failure }) => kindOf(failure.reason));
}

function isHalf(targets: number, all: number): boolean {
  return 2 * targets >= all;
}

/** Those that do not fail each in a way of its own. */
function failingAlike(about: readonly RegionTarget[]): readonly FailingTarget[] {
  return [...byKind(about).values()].filter(({ length }) => length >= leastTargets).flat();
}

/** @param failing in the order in which they began to fail */
function joiningOf(
  failing: readonly FailingTarget[],
  all: number,
  { intervalMs }: Pick<RegionState, "intervalMs">,
): Joining {
  const soonMs = 2 * intervalMs;
  let before = 0;
  const ends = runsOf(failing, soonMs).map((run) => {
    before += run.length;
    return { untilMs: (run.at(-1)?.failure.sinceMs ?? 0) + soonMs, isOfHalf: isHalf(before, all) };
  });
  const untilMs = ends[0]?.untilMs ?? 0;
  return { untilMs, afterMs: ends.find(({ isOfHalf }) => isOfHalf)?.untilMs ?? Infinity };
}

/** The most targets that fail alike, one soon after the other; empty: none of them has failed for long enough. */
function commonFailure(
  rule: RegionRule,
  about: readonly RegionTarget[],
  { intervalMs }: RegionState,
): readonly FailingTarget[] {
  const runs = byKind(about)
    .entries()
    .flatMap(([kind, some]) =>
      runsOf(some, 2 * intervalMs).filter(
        ({ length }) => kind === "outage" || isHalf(length, about.length),
      ),
    )
    .toArray();
  const held = runs.filter((run) => run.some((each) => hasHeld(rule, each)));
  return held.toSorted((one, other) => other.length - one.length)[0] ?? [];
}

/** Splits targets where one began to fail later than a time after the one before it. */
function runsOf(targets: readonly FailingTarget[], withinMs: number): readonly FailingTarget[][] {
  const runs: FailingTarget[][] = [];
  for (const each of targets) {
    const run = runs.at(-1);
    const lastMs = run?.at(-1)?.failure.sinceMs;
    if (run && lastMs !== undefined && each.failure.sinceMs - lastMs <= withinMs) run.push(each);
    else runs.push([each]);
  }
  return runs;
}

/** Time without polls proves nothing: a duration has passed when a poll that failed shows it. */
function hasHeld({ for: hold }: RegionRule, { failuresInARow, failure }: FailingTarget): boolean {
  return hold.kind === "polls"
    ? failuresInARow >= hold.polls
    : failure.lastMs - failure.sinceMs >= hold.ms;
}

/**
 * Such as "all 12 keys failing" because of "HTTP 503", or "2 of 12 keys failing" because of "HTTP 503: batch, research". Keys
 * that fail for a reason of their own count, too: "all 3 keys failing" because of "HTTP 503; one key was refused before".
 *
 * @param failing those that fail alike
 */
function observationOf(
  failing: readonly FailingTarget[],
  about: readonly RegionTarget[],
  atMs: number,
): Observed {
  const others = about.filter(isFailing).filter((each) => !failing.includes(each));
  const count = failing.length + others.length;
  const areAll = count === about.length;
  const reasons = failing.map(({ failure }) => failureText(failure.reason, failure.status));
  const why = [...new Set(reasons)].toSorted().join(", ");
  const names = areAll ? "" : `: ${someOf(failing.map(({ target }) => target.key))}`;
  // Not in the future, where the wall clock was set back.
  const startedAtMs = Math.min(atMs, ...failing.map(({ failure }) => failure.sinceMs));
  const apart = byKind(others)
    .entries()
    .map(([kind, some]) => apartText(kind, some, startedAtMs));
  return {
    condition: `${areAll ? `all ${count}` : `${count} of ${about.length}`} keys failing`,
    detail: [`${why}${names}`, ...apart].join("; "),
    unmonitored: [...failing, ...others].reduce((sum, each) => sum + each.servers, 0),
    startedAtMs,
  };
}

/** Such as "one key was refused before". */
function apartText(kind: FailureKind, some: readonly FailingTarget[], startedAtMs: number): string {
  const isBefore = some.every(({ failure }) => failure.sinceMs < startedAtMs);
  const keys = some.length === 1 ? "one key was" : `${some.length} keys were`;
  const what = { auth: "refused", rate_limited: "rate limited", outage: "failing otherwise" }[kind];
  return `${keys} ${what}${isBefore ? " before" : ""}`;
}

/** What does not hold any more, though one of its targets may fail. */
function endedCondition(about: readonly RegionTarget[]): string {
  return about.some(isFailing) ? "failing as a whole" : "failing";
}
