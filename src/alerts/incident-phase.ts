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
      /** When it was last told, for reminders. Null: a silence keeps it from being told. */
      readonly notifiedAtMs: number | null;
      /** Whether it enters and leaves the condition too often for every time to be told. */
      readonly flapping: boolean;
    }
  | { readonly name: "resolved"; readonly reason: ResolvedReason };

export type IncidentEvent =
  /** The subject was seen and the rule's condition holds. */
  | {
      readonly kind: "holds";
      readonly now: ClockReading;
      /** Whether a silence is about it. */
      readonly silenced: boolean;
      /** Whether somebody said "I know": nothing is told of how it goes on, only of its end. */
      readonly acknowledged: boolean;
      readonly flaps: Flaps;
    }
  /** The subject was seen and the condition does not hold. */
  | { readonly kind: "clears"; readonly now: ClockReading; readonly flaps: Flaps }
  /** Its clock went on, but the subject itself was not seen: what passed does not count. */
  | { readonly kind: "unobserved"; readonly passed: ClockReading }
  | { readonly kind: "gone" }
  | { readonly kind: "rule_removed" };

/** `too_often`: beyond the rule's limit; `of_late`: it may be settling; `no`: it is not, or settled. */
export type Flaps = "no" | "of_late" | "too_often";

export interface IncidentTiming {
  readonly hold: Hold;
  readonly keepFiringForMs: number;
  readonly remindEveryMs: number | null;
}

/** What a transition means to the world outside. */
export type IncidentStep =
  | "opened"
  | "dropped"
  /** It fires, and a silence keeps that from being told. */
  | "muted"
  | "fired"
  | "reminded"
  /** It was told as firing, and from now on single changes are not told. */
  | "flapping"
  /** It flapped, and now holds for good. */
  | "settled"
  | "resolved";

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
      return event.kind === "holds" ? open(event, timing) : { phase: null, step: null };
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
type Holds = Extract<IncidentEvent, { kind: "holds" }>;

function open(event: Holds, timing: IncidentTiming): Transition {
  const pending: Pending = { name: "pending", heldSince: event.now };
  return mustFire(pending, event, timing)
    ? fire(pending, event)
    : { phase: pending, step: "opened" };
}

function advancePending(phase: Pending, event: IncidentEvent, timing: IncidentTiming): Transition {
  switch (event.kind) {
    case "holds":
      return mustFire(phase, event, timing) ? fire(phase, event) : { phase, step: null };
    case "unobserved":
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
      return keepFiring(phase, event, timing.remindEveryMs);
    case "clears":
      return settle(phase, event, timing.keepFiringForMs);
    case "unobserved":
      return { phase: isTimed(phase, timing) ? shift(phase, event.passed) : phase, step: null };
    case "gone":
      return { phase: { name: "resolved", reason: "gone" }, step: "resolved" };
    case "rule_removed":
      return { phase: { name: "resolved", reason: "rule_removed" }, step: "resolved" };
  }
}

/** What goes on is told when something about it is new, unless a silence is about it. */
function keepFiring(phase: Firing, event: Holds, remindEveryMs: number | null): Transition {
  const { now, silenced, acknowledged, flaps } = event;
  // Once told it is taken back: who was woken by it must not wait for an end that nobody tells.
  if (silenced && phase.notifiedAtMs !== null) {
    return { phase: { name: "resolved", reason: "silenced" }, step: "resolved" };
  }
  const flapping = phase.flapping ? flaps !== "no" : flaps === "too_often";
  const notified: Firing = { ...phase, clearSinceMs: null, flapping, notifiedAtMs: now.ms };
  if (phase.notifiedAtMs === null) {
    return silenced
      ? { phase: whileHolding(phase, flapping), step: null }
      : { phase: notified, step: "fired" };
  }
  if (acknowledged) return { phase: whileHolding(phase, flapping), step: null };
  if (flapping !== phase.flapping)
    return { phase: notified, step: flapping ? "flapping" : "settled" };
  const reminds = remindEveryMs !== null && !flapping;
  return reminds && now.ms - phase.notifiedAtMs >= remindEveryMs
    ? { phase: notified, step: "reminded" }
    : { phase: whileHolding(phase, flapping), step: null };
}

/**
 * Whether a phase that came of its condition's holding is left as it is by its holding still, where no
 * silence is in force: it was told, and nothing is due.
 */
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

function whileHolding(phase: Firing, flapping: boolean): Firing {
  return phase.clearSinceMs === null && phase.flapping === flapping
    ? phase
    : { ...phase, clearSinceMs: null, flapping };
}

function settle(
  phase: Firing,
  { now, flaps }: Extract<IncidentEvent, { kind: "clears" }>,
  keepFiringForMs: number,
): Transition {
  const clearSinceMs = phase.clearSinceMs ?? now.ms;
  const settling = phase.flapping && flaps !== "no";
  if (!settling && now.ms - clearSinceMs >= keepFiringForMs) {
    return { phase: { name: "resolved", reason: "recovered" }, step: "resolved" };
  }
  return {
    phase: phase.clearSinceMs === null ? { ...phase, clearSinceMs } : phase,
    step: null,
  };
}

/** What flaps is told at once: it may never hold for long enough. */
function mustFire(
  { heldSince }: Pending,
  { now, flaps }: Holds,
  { hold }: IncidentTiming,
): boolean {
  return flaps === "too_often" || hasHeld(heldSince, now, hold);
}

function fire({ heldSince }: Pending, { now, silenced, flaps }: Holds): Transition {
  const notifiedAtMs = silenced ? null : now.ms;
  const flapping = flaps === "too_often";
  return {
    phase: { name: "firing", heldSince, clearSinceMs: null, notifiedAtMs, flapping },
    step: silenced ? "muted" : "fired",
  };
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
    notifiedAtMs: phase.notifiedAtMs === null ? null : phase.notifiedAtMs + passed.ms,
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
