import type { Target } from "../fleet/model.ts";
import type { Incident, Observed } from "./incident.ts";
import { matchesAny, matchesTarget } from "./rule.ts";
import type { EscalationStep, Match, Rule } from "./rule.ts";
import { silenceFacts, type RegionsDown } from "./silence.ts";
import type { Subject } from "./subjects.ts";
import type { IncidentMessage } from "./notification.ts";

/** A firing incident, and those who need not be notified of what follows from it. */
export interface Inhibitor {
  readonly incidentId: string;
  readonly receivers: readonly string[];
}

/** What only servers, or only servers and sandboxes have. */
const fieldsOfKind: Readonly<Record<string, readonly (typeof routeFields)[number][]>> = {
  server: ["server_name", "benchmark", "tag"],
  sandbox: ["benchmark"],
};

/** Those who are notified at once, and at steps of an escalation. */
interface Joining {
  readonly receivers: readonly string[];
  readonly steps: readonly EscalationStep[];
}

export type Seen = Pick<Observed, "benchmark" | "tags">;

/** Decides whom rules notify of the incidents of one target, or of what has none, at one moment (UTC milliseconds). */
export class Recipients {
  private readonly receivers: ConfiguredReceivers;
  private readonly target: Target | null;
  private readonly atMs: number;
  private readonly acknowledgedBy: ReadonlyMap<string, string>;
  private readonly isAnyRouted: boolean;
  private readonly isTimed: boolean;
  private readonly open = new Map<string, boolean>();
  private readonly joining = new Map<Rule, Joining>();

  constructor(
    receivers: ConfiguredReceivers,
    target: Target | null,
    atMs: number,
    acknowledgedBy: ReadonlyMap<string, string>,
  ) {
    this.receivers = receivers;
    this.target = target;
    this.atMs = atMs;
    this.acknowledgedBy = acknowledgedBy;
    this.isAnyRouted = receivers.values().some(({ route }) => route);
    this.isTimed = receivers.values().some(({ isOpenAt }) => isOpenAt);
  }

  /** The due steps of its escalation, each with those that were not notified yet of it or of what inhibits it. */
  escalated(
    rule: Rule,
    incident: Incident,
    subject: Subject,
    seen: Seen,
    inhibitors: readonly Inhibitor[],
  ): readonly EscalationStep[] {
    const steps = this.dueSteps(rule.escalation, incident);
    if (steps.length === 0) return [];
    const known = new Set([incident, ...inhibitors].flatMap(({ receivers: names }) => names));
    const isRouted = this.routing(rule, subject, seen);
    return steps.flatMap(({ afterMs, receivers: names }) => {
      const added = names.filter(
        (name) => !known.has(name) && this.isNotified(name) && isRouted(name),
      );
      for (const name of added) known.add(name);
      return added.length === 0 ? [] : [{ afterMs, receivers: added }];
    });
  }

  /** Whether somebody may have to be notified of an incident that goes on, because time has passed. */
  mayJoin(rule: Rule, incident: Incident): boolean {
    const { receivers: names, steps } = this.joiningOf(rule);
    const isMissing = (name: string): boolean => !incident.receivers.includes(name);
    if (names.some(isMissing)) return true;
    return this.dueSteps(steps, incident).some((step) => step.receivers.some(isMissing));
  }

  isOpen(name: string): boolean {
    const known = this.open.get(name) ?? this.receivers.get(name)?.isOpenAt?.(this.atMs) ?? true;
    this.open.set(name, known);
    return known;
  }

  /** Whether an incident is routed to a receiver. */
  private routing(rule: Rule, subject: Subject, seen: Seen): (name: string) => boolean {
    if (!this.isAnyRouted) return () => true;
    const facts = silenceFacts(rule, this.target, subject, seen);
    const own = fieldsOfKind[subject.kind] ?? [];
    return (name) => {
      const route = this.receivers.get(name)?.route;
      if (!route) return true;
      const { places, match } = route;
      if (places && !places.include(facts, rule.match)) return false;
      return routeFields.every((field) => {
        const patterns = match[field];
        if (patterns === undefined) return true;
        const values = [facts[field]].flat().filter((value) => value !== null);
        if (values.length === 0) return !own.includes(field);
        return values.some((value) => matchesAny(patterns, value));
      });
    };
  }

  /** The steps of the escalation that are due, as nobody acknowledged the incident. */
  private dueSteps(
    steps: readonly EscalationStep[] = [],
    { id, phase, firedAtMs }: Incident,
  ): readonly EscalationStep[] {
    if (firedAtMs === null || this.acknowledgedBy.has(id)) return [];
    if (phase.name !== "firing" || phase.flapping) return [];
    return steps.filter(({ afterMs }) => this.atMs - firedAtMs >= afterMs);
  }

  /** Whether a receiver is notified that something fires, at this moment. */
  isNotified(name: string): boolean {
    return wants(this.receivers, name, "incident.firing") && this.isOpen(name);
  }

  /** Those that a rule notifies of an incident that fires, now or once they are open, without its escalation. */
  informed(rule: Rule, subject: Subject, seen: Seen = {}): readonly string[] {
    const isRouted = this.routing(rule, subject, seen);
    return rule.receivers.filter(
      (name) => wants(this.receivers, name, "incident.firing") && isRouted(name),
    );
  }

  /** Those who can join incidents of a rule at this moment, as far as all its incidents in the target have that in common. */
  private joiningOf(rule: Rule): Joining {
    const known = this.joining.get(rule);
    if (known) return known;
    const { name: ruleName, severity, escalation = [] } = rule;
    const canJoin = (name: string): boolean => {
      const { places, match } = this.receivers.get(name)?.route ?? { places: null, match: {} };
      const isHere = !places || !this.target || places.include(this.target, rule.match);
      const isOfRule = matchesAny(match.rule, ruleName) && matchesAny(match.severity, severity);
      return isHere && isOfRule && this.isNotified(name);
    };
    const some = {
      receivers: this.isTimed ? rule.receivers.filter(canJoin) : [],
      steps: escalation.map((step) => ({ ...step, receivers: step.receivers.filter(canJoin) })),
    };
    this.joining.set(rule, some);
    return some;
  }
}

/** Those that a rule notifies, if they are open, but for the inhibited ones. */
export interface Inhibition {
  readonly receivers: readonly string[];
  /** What inhibits those that were not notified before. */
  readonly inhibitedBy: string | null;
  /** Whether nobody is left. */
  readonly isInhibited: boolean;
}

export function notInhibited(
  wanted: readonly string[],
  inhibitors: readonly Inhibitor[],
  before: Incident | undefined,
): Inhibition {
  const [first] = inhibitors;
  if (!first) return { receivers: wanted, inhibitedBy: null, isInhibited: false };
  const inhibitorOf = (receiver: string): Inhibitor | undefined =>
    inhibitors.find((each) => each.receivers.includes(receiver));
  const missing = wanted.filter((name) => inhibitorOf(name) && !before?.receivers.includes(name));
  const [uninformed] = missing;
  const inhibitor = uninformed === undefined ? undefined : inhibitorOf(uninformed);
  const receivers = wanted.filter((name) => inhibitorOf(name) === undefined);
  return {
    receivers,
    inhibitedBy: (wanted.length === 0 ? first : inhibitor)?.incidentId ?? null,
    isInhibited: receivers.length === 0,
  };
}

export const routeFields = ["rule", "severity", "server_name", "benchmark", "tag"] as const;

/** The incidents that a receiver is notified of. */
export interface ReceiverRoute {
  /** The targets that it is about; null: all of them. */
  readonly places: Places | null;
  /** A field that a subject cannot have excludes nobody: a target has no server name, but many servers that have one. */
  readonly match: { readonly [Field in (typeof routeFields)[number]]?: readonly string[] };
}

/** What subjects state of where they are: those of several targets lack the key, or the region, too. */
type Place = { readonly [Field in keyof Target]: string | null };

function placeKey({ region, key }: Place): string {
  return `${region ?? ""}/${key ?? ""}`;
}

/** Targets, found by what subjects state of where they are. */
export class Places {
  private readonly targets: readonly Target[];
  private readonly keys: ReadonlySet<string>;
  /** By the `match` of a rule that limits them. */
  private readonly keysWithin = new WeakMap<Match, ReadonlySet<string>>();

  constructor(targets: readonly Target[]) {
    this.targets = targets;
    this.keys = keysOf(targets);
  }

  /** Whether a subject is about at least one of the targets that a rule is about, too. */
  include(place: Place, match: Match): boolean {
    const isOfOne = place.region !== null && place.key !== null;
    const keys = isOfOne || !(match.region ?? match.key) ? this.keys : this.within(match);
    return keys.has(placeKey(place));
  }

  private within(match: Match): ReadonlySet<string> {
    const known = this.keysWithin.get(match);
    const keys = known ?? keysOf(this.targets.filter((each) => matchesTarget(match, each)));
    if (!known) this.keysWithin.set(match, keys);
    return keys;
  }
}

function keysOf(targets: readonly Target[]): ReadonlySet<string> {
  return new Set(
    targets.flatMap(({ region, key }) => [
      placeKey({ region, key }),
      placeKey({ region, key: null }),
      placeKey({ region: null, key }),
      placeKey({ region: null, key: null }),
    ]),
  );
}

/** What decides which messages a configured receiver is sent. */
export interface ConfiguredReceiver {
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
  /** Whether its alert stays open while an incident is silenced, so that it is owed the end. Default: no. */
  readonly keepsAlert?: boolean;
  /** The incidents that it is notified of; null or missing: all. */
  readonly route?: ReceiverRoute | null;
  /** The step for all rules at which it is notified: how long something fires that nobody has acknowledged. Missing: at once. */
  readonly escalatedAfterMs?: number | undefined;
  /** Whether it is notified that something fires at a moment (UTC milliseconds). Null or missing: always. */
  readonly isOpenAt?: ((atMs: number) => boolean) | null;
}

/** The receivers that are configured, by name. */
export type ConfiguredReceivers = ReadonlyMap<string, ConfiguredReceiver>;

/**
 * Whether a receiver is to be notified of this. A receiver that is not configured any more is owed the end of what it
 * was notified of, should it return.
 */
export function wants(
  receivers: ConfiguredReceivers,
  name: string,
  type: IncidentMessage,
): boolean {
  const receiver = receivers.get(name);
  if (type === "incident.resolved") return receiver?.sendResolved ?? true;
  const isAboutPerson = type === "incident.acknowledged" || type === "incident.unacknowledged";
  return receiver !== undefined && (!isAboutPerson || receiver.sendAcknowledged);
}

/** The incidents of a target's region of which it is a consequence that the target fails. */
export function regionInhibitors(
  regionsDown: RegionsDown,
  rules: readonly Rule[],
  target: Target,
  recipients: { informed(rule: Rule, subject: Subject): readonly string[] },
): readonly Inhibitor[] {
  const { region } = target;
  return (regionsDown.get(region) ?? []).flatMap(({ incidentId, rule: name }) => {
    const rule = rules.find((each) => each.name === name);
    if (!rule || !matchesTarget(rule.match, target)) return [];
    return [{ incidentId, receivers: recipients.informed(rule, { kind: "region", region }) }];
  });
}
