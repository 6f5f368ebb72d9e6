import type { ProbeRule, ServerRule, TargetRule } from "../draw/rules.ts";
import type { Expected } from "./check-incidents.ts";
import type { Observation } from "./observations.ts";
import { noTime, plus, reach, type Span } from "./span.ts";

/**
 * What an observation says of a subject. `unstated`: its status is unknown, which is no recovery;
 * `missed`: nothing, and it could not have.
 */
export type Finding = "holds" | "clears" | "unstated" | "lacking" | "missed";

export type EndReason = "recovered" | "gone" | "silenced" | "rule_removed";

/** What of a rule decides when receivers are notified. */
export type JudgedRule = Omit<
  ServerRule | ProbeRule | TargetRule,
  "on" | "status" | "trouble" | "name"
>;

interface Incident {
  /** The observation that began it. */
  readonly start: number;
  readonly phase: "pending" | "suppressed" | "notified";
  readonly held: Span;
  readonly polls: number;
  /** Since the condition was over; null: it holds. */
  readonly clear: Span | null;
  /** Since the last notification. */
  readonly quiet: Span;
  readonly flapping: boolean;
  /** Whether only receivers were notified of it whose messages are not judged as such. */
  readonly isElsewhere: boolean;
}

/** A state that a subject may have under a rule. */
export interface State {
  readonly incident: Incident | null;
  /** Complete listings in a row without it. */
  readonly lacking: number;
  /** How long ago the condition began each time, or its incident ended, as far as that counts for flapping. */
  readonly entries: readonly Span[];
  /** How many of the notified incidents are accounted for. */
  readonly notified: number;
  /** How many reminders of the last of them were due. */
  readonly reminders: number;
}

export const initialState: State = {
  incident: null,
  lacking: 0,
  entries: [],
  notified: 0,
  reminders: 0,
};

/** Whether another incident keeps one from being notified, and whether one may keep it from being notified again. */
export interface Inhibition {
  readonly isClaimed: boolean;
  /** Whether receivers are notified nevertheless whose messages are not judged as such. */
  readonly isElsewhere: boolean;
  readonly isPossible: boolean;
}

export interface Step {
  readonly at: number;
  readonly observation: Observation;
  readonly finding: Finding;
  /** False: it is none of the polls or runs that a rule counts. */
  readonly isCounted?: boolean;
  readonly rule: JudgedRule;
  readonly goneAfter: number;
  /** Whether a silence was in force: both where both are possible. */
  readonly silenced: readonly boolean[];
  readonly inhibited?: Inhibition;
  readonly expected: Expected;
}

/** The possible states after an observation that counted; none: the notifications contradict it. */
export function advance(state: State, step: Step): readonly State[] {
  switch (step.finding) {
    case "holds":
      return onHolds({ ...state, lacking: 0 }, step);
    case "clears":
      return onEnds({ ...state, lacking: 0 }, step, "recovered");
    case "lacking": {
      const lacking = state.lacking + 1;
      if (lacking < step.goneAfter) return [unobserved({ ...state, lacking }, step)];
      return onEnds({ ...state, lacking }, step, "gone");
    }
    case "unstated":
      return [unobserved({ ...state, lacking: 0 }, step)];
    case "missed":
      return [unobserved(state, step)];
  }
}

/** An incident does not age meanwhile; what counts for flapping does, while there is no incident. */
function unobserved(state: State, { observation }: Step): State {
  if (state.incident) return state;
  return { ...state, entries: state.entries.map((entry) => plus(entry, observation)) };
}

function onHolds(before: State, step: Step): readonly State[] {
  const { observation, rule, at, isCounted = true } = step;
  const { incident } = before;
  const isPending = incident?.phase === "pending";
  const current: Incident = incident
    ? {
        ...incident,
        held: isPending ? plus(incident.held, observation) : noTime,
        polls: isPending ? incident.polls + (isCounted ? 1 : 0) : 0,
        quiet: plus(incident.quiet, observation),
        clear: null,
      }
    : {
        start: at,
        phase: "pending",
        held: noTime,
        polls: 1,
        clear: null,
        quiet: noTime,
        flapping: false,
        isElsewhere: false,
      };
  return age(before, step, incident === null || incident.clear !== null).flatMap((state) => {
    const often = rule.flap !== null && state.entries.length > rule.flap.changes;
    const flapping = current.flapping ? state.entries.length > 0 : often;
    switch (current.phase) {
      case "pending":
        return hold(current, rule).flatMap(({ reached, span }) =>
          reached || (often && !rule.flap?.firingOnly)
            ? fire(state, { ...current, flapping: often }, step)
            : [{ ...state, incident: { ...current, held: span } }],
        );
      case "suppressed":
        return fire(state, { ...current, flapping }, step);
      case "notified":
        return goOn(state, { ...current, flapping }, step);
    }
  });
}

function hold({ held, polls }: Incident, { hold: limit }: JudgedRule) {
  return "ms" in limit ? reach(held, limit.ms) : [{ reached: polls >= limit.polls, span: held }];
}

function fire(state: State, incident: Incident, { silenced, inhibited, at, expected }: Step) {
  const fired = { ...incident, held: noTime, polls: 0, quiet: noTime };
  return silenced.flatMap((isSilenced): readonly State[] => {
    if (isSilenced || inhibited?.isClaimed) {
      const isElsewhere = !isSilenced && (inhibited?.isElsewhere ?? false);
      return [{ ...state, incident: { ...fired, phase: "suppressed", isElsewhere } }];
    }
    if (!expected.fires(state.notified, fired.start, at)) return [];
    const notified = state.notified + 1;
    return [{ ...state, notified, reminders: 0, incident: { ...fired, phase: "notified" } }];
  });
}

/** A notified incident goes on: it is resolved by a silence, reminded of, or neither. */
function goOn(state: State, incident: Incident, step: Step): readonly State[] {
  const { silenced, inhibited, rule, observation, expected } = step;
  const wasFlapping = state.incident?.flapping ?? false;
  const reminded = {
    ...state,
    reminders: state.reminders + 1,
    incident: { ...incident, quiet: noTime },
  };
  return silenced.flatMap((isSilenced): readonly State[] => {
    if (isSilenced) {
      if (!expected.ends(state, "silenced", step.at)) return [];
      // It is resolved before it is decided whether it still flaps.
      const flapping = wasFlapping;
      const suppressed = {
        ...incident,
        phase: "suppressed",
        quiet: noTime,
        flapping,
        isElsewhere: false,
      } as const;
      return [countEnd({ ...state, incident: suppressed }, rule)];
    }
    const acknowledged = expected.acknowledged(state.notified, observation);
    const isQuiet = inhibited?.isPossible ? [...acknowledged, true] : acknowledged;
    return isQuiet.flatMap((goesOn) => {
      if (goesOn) return [{ ...state, incident }];
      if (wasFlapping && !incident.flapping) return [countEnd(reminded, rule)];
      if (wasFlapping !== incident.flapping) return [reminded];
      if (incident.flapping) return [{ ...state, incident }];
      return reach(incident.quiet, rule.remindEveryMs ?? Infinity).map(({ reached, span: quiet }) =>
        reached ? reminded : { ...state, incident: { ...incident, quiet } },
      );
    });
  });
}

function onEnds(before: State, step: Step, reason: "recovered" | "gone"): readonly State[] {
  const { observation, rule } = step;
  return age(before, step, false).flatMap((state): readonly State[] => {
    const { incident } = state;
    if (!incident) return [state];
    const isFiringOnly = rule.flap?.firingOnly ?? false;
    if (incident.phase === "pending") {
      const entries = isFiringOnly ? state.entries.slice(0, -1) : state.entries;
      return [{ ...state, entries, incident: null }];
    }
    const settles = incident.phase === "notified" || incident.isElsewhere || !isFiringOnly;
    const isFlapping = incident.flapping && state.entries.length > 0 && settles;
    const clear = incident.clear === null ? noTime : plus(incident.clear, observation);
    const quiet = plus(incident.quiet, observation);
    return reach(clear, reason === "gone" ? 0 : rule.keepFiringMs).flatMap(({ reached, span }) =>
      reached && !isFlapping
        ? end(countEnd(state, rule), reason, step.at, step.expected)
        : [{ ...state, incident: { ...incident, clear: span, quiet } }],
    );
  });
}

function end(state: State, reason: EndReason, at: number, expected: Expected): readonly State[] {
  if (state.incident?.phase === "notified" && !expected.ends(state, reason, at)) return [];
  return [{ ...state, incident: null }];
}

/** That the condition held the last time counts from its end on. */
function countEnd(state: State, { flap }: JudgedRule): State {
  return flap === null ? state : { ...state, entries: [...state.entries.slice(0, -1), noTime] };
}

/** Nothing goes on under another rule. */
export function retire(state: State, at: number, expected: Expected): readonly State[] {
  return end({ ...state, entries: [] }, "rule_removed", at, expected);
}

/** What lies too far back does not count for flapping any more. */
function age(state: State, { observation, rule: { flap } }: Step, enters: boolean) {
  if (flap === null) return [state];
  const kept = state.entries.reduce<readonly (readonly Span[])[]>(
    (variants, entry) =>
      variants.flatMap((variant) =>
        reach(plus(entry, observation), flap.withinMs).map(({ reached, span }) =>
          reached ? variant : [...variant, span],
        ),
      ),
    [[]],
  );
  return kept.map((entries) => ({
    ...state,
    entries: (enters ? [...entries, noTime] : entries).slice(-flap.changes - 1),
  }));
}
