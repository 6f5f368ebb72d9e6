import type { ResolvedReason } from "./notification.ts";
import type { Hold } from "./rule.ts";

/**
 * A reading of a subject's own clock, which runs only while the subject is watched: a server's by
 * accepted listings of its target, a target's by polls of any outcome. An incident therefore does
 * not age while nothing is seen, nor while sandwatch is not running.
 */
export interface ClockReading {
  readonly ms: number;
  readonly polls: number;
}

export type IncidentPhase =
  | { readonly name: "pending"; readonly heldSince: ClockReading }
  | {
      readonly name: "firing";
      readonly heldSince: ClockReading;
      /** Since when the condition does not hold any more, while `keep_firing_for` runs. */
      readonly clearSinceMs: number | null;
      /** When it was last told, for reminders. */
      readonly toldAtMs: number;
    }
  | { readonly name: "resolved"; readonly reason: ResolvedReason };

export type IncidentEvent =
  /** The subject was seen and the rule's condition holds. */
  | { readonly kind: "holds"; readonly now: ClockReading }
  /** The subject was seen and the condition does not hold. */
  | { readonly kind: "clears"; readonly now: ClockReading }
  /** Its clock went on, but the subject itself was not seen: what passed does not count. */
  | { readonly kind: "unseen"; readonly passed: ClockReading }
  | { readonly kind: "gone" }
  | { readonly kind: "rule_removed" };

export interface IncidentTiming {
  readonly hold: Hold;
  readonly keepFiringForMs: number;
  readonly remindEveryMs: number | null;
}

/** What a transition means to the world outside. */
export type IncidentStep = "opened" | "dropped" | "fired" | "reminded" | "resolved";

export interface Transition {
  /** Null: there is no incident (not yet, or not any more since it never fired). */
  readonly phase: IncidentPhase | null;
  /** Null: nothing that anybody must hear of, though the phase may have changed. */
  readonly step: IncidentStep | null;
}

/** The life of an incident: none, pending, firing, resolved. Null stands for none. */
export function advanceIncident(
  phase: IncidentPhase | null,
  event: IncidentEvent,
  timing: IncidentTiming,
): Transition {
  switch (phase?.name) {
    case undefined:
      return event.kind === "holds" ? open(event.now, timing) : { phase: null, step: null };
    case "pending":
      return advancePending(phase, event, timing);
    case "firing":
      return advanceFiring(phase, event, timing);
    case "resolved":
      return { phase, step: null };
  }
}

type Pending = Extract<IncidentPhase, { name: "pending" }>;
type Firing = Extract<IncidentPhase, { name: "firing" }>;

function open(now: ClockReading, timing: IncidentTiming): Transition {
  return hasHeld(now, now, timing.hold)
    ? { phase: fire(now, now), step: "fired" }
    : { phase: { name: "pending", heldSince: now }, step: "opened" };
}

function advancePending(phase: Pending, event: IncidentEvent, timing: IncidentTiming): Transition {
  switch (event.kind) {
    case "holds":
      return hasHeld(phase.heldSince, event.now, timing.hold)
        ? { phase: fire(phase.heldSince, event.now), step: "fired" }
        : { phase, step: null };
    case "unseen":
      return {
        phase: { ...phase, heldSince: later(phase.heldSince, event.passed) },
        step: null,
      };
    case "clears":
    case "gone":
    case "rule_removed":
      return { phase: null, step: "dropped" };
  }
}

function advanceFiring(phase: Firing, event: IncidentEvent, timing: IncidentTiming): Transition {
  switch (event.kind) {
    case "holds":
      return keepFiring(phase, event.now, timing.remindEveryMs);
    case "clears":
      return settle(phase, event.now, timing.keepFiringForMs);
    case "unseen":
      return { phase: isTimed(phase, timing) ? shift(phase, event.passed) : phase, step: null };
    case "gone":
      return { phase: { name: "resolved", reason: "gone" }, step: "resolved" };
    case "rule_removed":
      return { phase: { name: "resolved", reason: "rule_removed" }, step: "resolved" };
  }
}

function keepFiring(phase: Firing, now: ClockReading, remindEveryMs: number | null): Transition {
  if (remindEveryMs !== null && now.ms - phase.toldAtMs >= remindEveryMs) {
    return { phase: { ...phase, clearSinceMs: null, toldAtMs: now.ms }, step: "reminded" };
  }
  return {
    phase: phase.clearSinceMs === null ? phase : { ...phase, clearSinceMs: null },
    step: null,
  };
}

function settle(phase: Firing, now: ClockReading, keepFiringForMs: number): Transition {
  const clearSinceMs = phase.clearSinceMs ?? now.ms;
  if (now.ms - clearSinceMs >= keepFiringForMs) {
    return { phase: { name: "resolved", reason: "recovered" }, step: "resolved" };
  }
  return {
    phase: phase.clearSinceMs === null ? { ...phase, clearSinceMs } : phase,
    step: null,
  };
}

function fire(heldSince: ClockReading, now: ClockReading): Firing {
  return { name: "firing", heldSince, clearSinceMs: null, toldAtMs: now.ms };
}

/** Whether its clock still decides anything: if not, what passes need not be kept. */
function isTimed({ clearSinceMs }: Firing, { remindEveryMs }: IncidentTiming): boolean {
  return clearSinceMs !== null || remindEveryMs !== null;
}

function shift(phase: Firing, passed: ClockReading): Firing {
  return {
    ...phase,
    heldSince: later(phase.heldSince, passed),
    clearSinceMs: phase.clearSinceMs === null ? null : phase.clearSinceMs + passed.ms,
    toldAtMs: phase.toldAtMs + passed.ms,
  };
}

function hasHeld(since: ClockReading, now: ClockReading, hold: Hold): boolean {
  switch (hold.kind) {
    case "duration":
      return now.ms - since.ms >= hold.ms;
    case "polls":
      return now.polls - since.polls + 1 >= hold.polls;
  }
}

function later(reading: ClockReading, passed: ClockReading): ClockReading {
  return { ms: reading.ms + passed.ms, polls: reading.polls + passed.polls };
}
