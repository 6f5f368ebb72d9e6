import { messagesOf } from "./check-deliveries.ts";
import { lastNotifiableMs, timesOf, violation, writtenUntilMs } from "./evidence.ts";
import type { Evidence, NotifiedIncident, Violation } from "./evidence.ts";
import { advance, initialState, retire } from "./incident-model.ts";
import type { EndReason, Finding, JudgedRule, State, Step } from "./incident-model.ts";
import { inhibitionOf, wasInhibited } from "./inhibition.ts";
import { isAt, type Observation, type TargetObservation } from "./observations.ts";
import { acknowledgedAt, silencedAt } from "./people.ts";
import { isSelective } from "./recipients.ts";
import { hasStages, notifiesEnd } from "./routes.ts";
import type { SandboxRule, ScenarioRule, ServerRule } from "../draw/rules.ts";

/** A subject of a rule, with what was observed of it and which of its incidents were notified. */
export interface Followed<O extends Observation> {
  readonly name: string;
  readonly about?: string;
  readonly rule: JudgedRule;
  readonly observations: readonly O[];
  readonly notified: readonly NotifiedIncident[];
}

export type Expected = ReturnType<typeof expect>;

/** Compares the notifications that are due with those that came, and notes what differs. */
function expect<O extends Observation>(
  evidence: Evidence,
  { rule, observations, notified }: Followed<O>,
) {
  const { scenario } = evidence;
  let faults = new Set<string>();
  const refuse = (fault: string): false => {
    faults.add(fault);
    return false;
  };
  const lateMs =
    observations.find(({ fromMs }) => fromMs > lastNotifiableMs(evidence))?.fromMs ?? Infinity;
  // Where the wall clock was set back, it showed a time twice.
  const isBeforeLate = (utcMs: number): boolean =>
    timesOf(evidence, utcMs).every((atMs) => atMs < lateMs);

  // A receiver that was not always configured misses some.
  const reminded = scenario.receivers.filter(
    ({ name }) => hasStages(scenario) || rule.receivers.includes(name),
  );

  const isAtObservation = (at: number, utcMs: number): boolean => {
    const observation = observations[at];
    return observation !== undefined && isAt(observation, utcMs);
  };
  const timeOf = (at: number): string => `${observations[at]?.fromMs} ms`;

  const isReminded = ({ notified: count, reminders }: State, most = reminders): boolean => {
    const incident = notified[count - 1];
    if (!incident || wasInhibited(evidence, incident.id)) return true;
    return reminded.every(({ name }) => {
      const own = evidence.attempts.filter(({ receiver }) => receiver === name);
      const times = messagesOf(own, incident.id, "incident.reminder").size;
      // A reminder that waits until the incident is resolved is not sent.
      const isOver = messagesOf(own, incident.id, "incident.resolved").size > 0;
      const isPlain = !hasStages(scenario) && !isSelective(scenario, name);
      const mayLack = reminders === 0 || !isPlain || isOver;
      if (times <= most && (times > 0 || mayLack)) return true;
      return refuse(`${name} was reminded of ${incident.id} ${times} times, not ${reminders}`);
    });
  };

  return {
    /** Whether the next notified incident is one that began and fired at these observations. */
    fires(count: number, start: number, at: number): boolean {
      const incident = notified[count];
      if (!incident) {
        return refuse(`nobody was notified, though it held long enough from ${timeOf(start)}`);
      }
      const { id, startedUtcMs, notifiedMs } = incident;
      if (!isAtObservation(start, startedUtcMs)) {
        return refuse(
          `${id} did not start at ${timeOf(start)}, or something else was not notified`,
        );
      }
      const isEarly = notifiedMs < (observations[at]?.fromMs ?? 0);
      return !isEarly || refuse(`${id} was notified too early`);
    },
    /** Whether the last incident resolved at this observation, and was reminded of as it should be. */
    ends(state: State, reason: EndReason, at: number): boolean {
      if (!isReminded(state)) return false;
      const incident = notified[state.notified - 1];
      if (!incident || !notifiesEnd(evidence, rule, incident.id)) return true;
      const { id, resolved } = incident;
      if (!resolved) return refuse(`${id} went on, though it was over (${reason})`);
      const isThen = reason === "rule_removed" || isAtObservation(at, resolved.utcMs);
      return (
        (resolved.reason === reason && isThen) ||
        refuse(`${id} was resolved (${resolved.reason}), but not then for that (${reason})`)
      );
    },
    /** Whether nothing is wrong about what still goes on, and no other incident was notified. */
    isAll(state: State): boolean {
      const more = notified[state.notified];
      if (more && more.notifiedMs <= lastNotifiableMs(evidence)) {
        return refuse(`${more.id} was notified for nothing that was observed`);
      }
      if (state.incident?.phase !== "notified") return true;
      const last = notified.at(-1);
      if (last?.resolved && isBeforeLate(last.resolved.utcMs)) {
        return refuse(`${last.id} was resolved when it was not over`);
      }
      return isReminded(state, Infinity);
    },
    acknowledged: (count: number, observation: Observation): readonly boolean[] =>
      acknowledgedAt(evidence, notified[count - 1]?.id ?? "", observation),
    /** What differed since the last call. */
    takeFaults(): readonly string[] {
      const taken = [...faults];
      faults = new Set();
      return taken;
    },
  };
}

/** More possible states than this say nothing of the notifications. */
const mostStates = 1_000;

/**
 * The notifications about a subject are those that the observations of it call for. Where it cannot be
 * known whether an observation counted, or what else was so at that moment, all possible states
 * are followed: one of them has to agree with the notifications.
 *
 * @param next the possible states after an observation; null: nothing can be said
 * @param last the possible states once the last observation is past
 */
export function follow<O extends Observation, S extends State>(
  evidence: Evidence,
  followed: Followed<O>,
  first: S,
  next: (
    states: readonly S[],
    step: Pick<Step, "at" | "rule" | "expected">,
    observation: O,
  ) => readonly S[] | null,
  last: (state: S, step: Pick<Step, "at" | "expected">) => readonly S[] = (state) => [state],
): readonly Violation[] {
  const { name, about = name, rule, observations, notified } = followed;
  const expected = expect(evidence, followed);
  const faults = (atMs: number): readonly Violation[] =>
    expected
      .takeFaults()
      .map((fault) =>
        violation(`${name}: ${fault} (at ${atMs} ms)`, about, ...notified.map(({ id }) => id)),
      );
  let states: readonly S[] = [first];
  for (const [at, observation] of observations.entries()) {
    expected.takeFaults();
    if (observation.fromMs > lastNotifiableMs(evidence)) break;
    const after = next(states, { at, rule, expected }, observation);
    if (after === null) return [];
    states = distinct(after);
    if (states.length > mostStates) return [];
    if (states.length === 0) return faults(observation.fromMs);
  }
  expected.takeFaults();
  const ends = states.flatMap((state) => last(state, { at: observations.length - 1, expected }));
  return ends.some((state) => expected.isAll(state)) ? [] : faults(evidence.endMs);
}

export function distinct<T>(values: readonly T[]): readonly T[] {
  if (values.length < 2) return values;
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** A rule on statuses. */
export type StatusRule = ServerRule | SandboxRule;

export function isOnStatus(rule: ScenarioRule): rule is StatusRule {
  return rule.on === "server" || rule.on === "sandbox";
}

/** @param server by sandbox and server id; a sandbox by its id alone */
export function checkStatusRule(
  evidence: Evidence,
  target: string,
  server: string,
  followed: Omit<Followed<TargetObservation>, "name" | "rule"> & { readonly rule: StatusRule },
): readonly Violation[] {
  const { scenario, lives } = evidence;
  const { rule } = followed;
  const name = `${rule.name} ${target} ${server}`;
  const ruleIn = (number: number): StatusRule | null => {
    const rules = lives[number - 1]?.rules ?? scenario.rules;
    return rules.filter(isOnStatus).find((each) => each.name === rule.name) ?? null;
  };
  const inhibited = inhibitionOf(evidence, { rule: rule.name, target, server });
  let present: StatusRule | null = rule;
  let life = 0;
  return follow(
    evidence,
    { ...followed, name, about: `${target} ${server}` },
    initialState,
    (before, step, observation) => {
      const { listing, certain } = observation;
      let states = before;
      ({ life } = listing);
      const next = ruleIn(life);
      if (next !== present)
        states = states.flatMap((state) => retire(state, step.at, step.expected));
      present = next;
      const full: Step = {
        ...step,
        observation,
        finding: findingOf(observation, server, next),
        rule: next ?? rule,
        goneAfter: scenario.goneAfter,
        silenced: silencedAt(evidence, { rule: rule.name, target, server }, observation),
        inhibited: inhibited(writtenUntilMs(evidence, listing)),
      };
      return states.flatMap((state) => [...advance(state, full), ...(certain ? [] : [state])]);
    },
    // A process that starts with another rule ends incidents, though it observes nothing any more.
    (state, { at, expected }) =>
      lives.slice(life).some((_, later) => ruleIn(life + later + 1) !== present)
        ? [state, ...retire(state, at, expected)]
        : [state],
  );
}

function findingOf(
  { listing }: TargetObservation,
  subject: string,
  rule: StatusRule | null,
): Finding {
  // Of a sandbox only what it states itself counts.
  const status = listing.boxes.has(subject)
    ? (listing.boxes.get(subject)?.own ?? null)
    : listing.shown.get(subject)?.status;
  if (status === undefined) return listing.complete ? "lacking" : "missed";
  if (status === rule?.status) return "holds";
  return status === "unknown" || status === null ? "unstated" : "clears";
}
