import type { ResolvedReason } from "./notification.ts";
import type { Hold } from "./rule.ts";

/**
 * A reading of a subject's own clock, which runs only while the subject is observed: a server's by accepted listings of
 * its target, a target's by polls of any outcome. So an incident does not age while its subject is unobserved, nor while
 * sandwatch is not running.
 */
export interface ClockReading {
  readonly ms: number;
  readonly polls: number;
}

interface Pending {
  readonly name: "pending";
  readonly heldSince: ClockReading;
}

interface Firing {
  readonly name: "firing";
  readonly heldSince: ClockReading;
  /** Since when the condition does not hold any more, while `keep_firing_for` runs. */
  readonly clearSinceMs: number | null;
  /** When receivers were last notified. Null: a silence or another incident suppresses that. */
  readonly notifiedAtMs: number | null;
  readonly flapping: boolean;
}

export type IncidentPhase =
  | Pending
  | Firing
  | { readonly name: "resolved"; readonly reason: ResolvedReason };

/** `too_often`: beyond the rule's limit; `recently`: it may be settling; `no`: it does not flap, or has settled. */
export type Flaps = "no" | "recently" | "too_often";

/** The subject was observed, and the rule's condition holds or does not. */
type Held = { readonly kind: "holds"; readonly now: ClockReading };
type Ended = { readonly kind: "clears" | "gone"; readonly now: ClockReading };
type Other =
  /** The clock went on, but the subject itself was not observed: what passed does not count. */
  | { readonly kind: "unobserved"; readonly passed: ClockReading }
  | { readonly kind: "rule_removed" };

/** What happened to a subject, before silences, acknowledgements and flapping are taken into account. */
export type SubjectEvent = Held | Ended | Other;

type Holds = Held & {
  readonly silenced: boolean;
  /** Other incidents suppress its notifications to all receivers. */
  readonly inhibited: boolean;
  readonly acknowledged: boolean;
  readonly flaps: Flaps;
};
type Ends = Ended & { readonly flaps: Flaps };
export type IncidentEvent = Holds | Ends | Other;

export interface IncidentTiming {
  readonly hold: Hold;
  readonly keepFiringForMs: number;
  readonly remindEveryMs: number | null;
  /** Whether what flaps must have held for as long, too, before it fires. */
  readonly holdsFlapping?: boolean;
}

/** What a transition means to the world outside. */
export type IncidentStep =
  | "opened"
  | "dropped"
  /** It fires, and a silence suppresses its notifications. */
  | "muted"
  /** It fires, and another incident suppresses its notifications. */
  | "inhibited"
  | "fired"
  | "reminded"
  /** Nobody acknowledged it: receivers of its escalation are notified. */
  | "escalated"
  /** From now on single changes are not notified. */
  | "flapping"
  /** It flapped, and now holds for good. */
  | "settled"
  | "resolved";

export interface Transition {
  /** Null: there is no incident, not yet or not any more as it never fired. */
  readonly phase: IncidentPhase | null;
  /** Null: nothing to notify or log, though the phase may have changed. */
  readonly step: IncidentStep | null;
}

/** The life of an incident: none (null), pending, firing, resolved. */
export function advanceIncident(
  phase: IncidentPhase | null,
  event: IncidentEvent,
  timing: IncidentTiming,
): Transition {
  switch (phase?.name) {
    case undefined: {
      if (event.kind !== "holds") return { phase, step: null };
      const pending: Pending = { name: "pending", heldSince: event.now };
      return fireIfHeld(pending, event, timing) ?? { phase: pending, step: "opened" };
    }
    case "pending":
      return advancePending(phase, event, timing);
    case "firing":
      return advanceFiring(phase, event, timing);
    case "resolved":
      return { phase, step: null };
  }
}

function advancePending(phase: Pending, event: IncidentEvent, timing: IncidentTiming): Transition {
  switch (event.kind) {
    case "holds":
      return fireIfHeld(phase, event, timing) ?? { phase, step: null };
    case "unobserved":
      return { phase: { ...phase, heldSince: later(phase.heldSince, event.passed) }, step: null };
    case "clears":
    case "gone":
    case "rule_removed":
      return { phase: null, step: "dropped" };
  }
}

function advanceFiring(phase: Firing, event: IncidentEvent, timing: IncidentTiming): Transition {
  switch (event.kind) {
    case "holds":
      return keepFiring(phase, event, timing.remindEveryMs);
    case "clears":
    case "gone":
      return clear(phase, event, timing);
    case "unobserved": {
      // Where its clock decides nothing any more, what passes need not be written.
      const isTimed = phase.clearSinceMs !== null || timing.remindEveryMs !== null;
      return { phase: isTimed ? shift(phase, event.passed) : phase, step: null };
    }
    case "rule_removed":
      return resolve("rule_removed");
  }
}

function resolve(reason: ResolvedReason): Transition {
  return { phase: { name: "resolved", reason }, step: "resolved" };
}

/** What flaps fires at once, unless it must hold, too: it may never hold for long enough. */
function fireIfHeld(
  { heldSince }: Pending,
  { now, silenced, inhibited, flaps }: Holds,
  { hold, holdsFlapping = false }: IncidentTiming,
): Transition | null {
  const flapping = flaps === "too_often";
  if ((!flapping || holdsFlapping) && !hasHeld(heldSince, now, hold)) return null;
  const notifiedAtMs = silenced || inhibited ? null : now.ms;
  return {
    phase: { name: "firing", heldSince, clearSinceMs: null, notifiedAtMs, flapping },
    step: silenced ? "muted" : inhibited ? "inhibited" : "fired",
  };
}

function hasHeld(since: ClockReading, now: ClockReading, hold: Hold): boolean {
  return hold.kind === "duration"
    ? now.ms - since.ms >= hold.ms
    : now.polls - since.polls + 1 >= hold.polls;
}

function keepFiring(phase: Firing, event: Holds, remindEveryMs: number | null): Transition {
  const { now, silenced, inhibited, acknowledged, flaps } = event;
  const { notifiedAtMs } = phase;
  // A receiver that was notified must not wait for an end that is never notified.
  if (silenced && notifiedAtMs !== null) return resolve("silenced");
  const flapping = phase.flapping ? flaps !== "no" : flaps === "too_often";
  const isSame = phase.clearSinceMs === null && phase.flapping === flapping;
  const held: Firing = isSame ? phase : { ...phase, clearSinceMs: null, flapping };
  const notify = (step: IncidentStep): Transition => ({
    phase: { ...held, notifiedAtMs: now.ms },
    step,
  });
  const isSuppressed = silenced || inhibited;
  if (notifiedAtMs === null) return isSuppressed ? { phase: held, step: null } : notify("fired");
  if (acknowledged || inhibited) return { phase: held, step: null };
  if (flapping !== phase.flapping) return notify(flapping ? "flapping" : "settled");
  const isDue = remindEveryMs !== null && !flapping && now.ms - notifiedAtMs >= remindEveryMs;
  return isDue ? notify("reminded") : { phase: held, step: null };
}

/** Whether a phase stays as it is if the condition still holds and no silence is in force. */
export function goesOnFiring(
  phase: IncidentPhase,
  now: ClockReading,
  remindEveryMs: number | null,
): boolean {
  if (phase.name !== "firing" || phase.flapping) return false;
  const { clearSinceMs, notifiedAtMs } = phase;
  if (clearSinceMs !== null || notifiedAtMs === null) return false;
  return remindEveryMs === null || now.ms - notifiedAtMs < remindEveryMs;
}

function clear(
  phase: Firing,
  { kind, now, flaps }: Ends,
  { keepFiringForMs, holdsFlapping = false }: IncidentTiming,
): Transition {
  const clearSinceMs = phase.clearSinceMs ?? now.ms;
  // Otherwise it would be notified as soon as it holds again, for whatever time.
  const isOver = holdsFlapping && phase.notifiedAtMs === null;
  const isSettling = phase.flapping && flaps !== "no" && !isOver;
  // What flaps by disappearing settles, too, before it is notified again.
  if (!isSettling && kind === "gone") return resolve("gone");
  if (!isSettling && now.ms - clearSinceMs >= keepFiringForMs) return resolve("recovered");
  return { phase: phase.clearSinceMs === null ? { ...phase, clearSinceMs } : phase, step: null };
}

function shift(phase: Firing, passed: ClockReading): Firing {
  const { clearSinceMs, notifiedAtMs } = phase;
  return {
    ...phase,
    heldSince: later(phase.heldSince, passed),
    clearSinceMs: clearSinceMs === null ? null : clearSinceMs + passed.ms,
    notifiedAtMs: notifiedAtMs === null ? null : notifiedAtMs + passed.ms,
  };
}

function later({ ms, polls }: ClockReading, passed: ClockReading): ClockReading {
  return { ms: ms + passed.ms, polls: polls + passed.polls };
}

/** For an incident whose rule is gone. */
export const untimed: IncidentTiming = {
  hold: { kind: "duration", ms: 0 },
  keepFiringForMs: 0,
  remindEveryMs: null,
};

/** Says whether receivers were notified that it fires. */
export function isNotified(phase: IncidentPhase | null | undefined): boolean {
  return phase?.name === "firing" && phase.notifiedAtMs !== null;
}
