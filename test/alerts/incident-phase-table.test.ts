import { describe, expect, it } from "vitest";
import { advanceIncident } from "../../src/alerts/incident-phase.ts";
import type {
  ClockReading,
  IncidentEvent,
  IncidentPhase,
  IncidentStep,
  IncidentTiming,
  Transition,
} from "../../src/alerts/incident-phase.ts";
import { clears, firingSince, holds } from "./support/incident-events.ts";
import { lasting } from "./support/samples.ts";

const minute = 60_000;
const at = (minutes: number): ClockReading => ({ ms: minutes * minute, polls: minutes });

const timing: IncidentTiming = {
  hold: lasting(5 * minute),
  keepFiringForMs: 3 * minute,
  remindEveryMs: null,
};

const pending: IncidentPhase = { name: "pending", heldSince: at(10) };
const firing = firingSince(at(5), 10 * minute);
const muted = firingSince(at(5), null);
const flapping = { ...firing, flapping: true };
const clear = { clearSinceMs: 10 * minute } as const;
const resolved: IncidentPhase = { name: "resolved", reason: "recovered" };

const phases = {
  none: null,
  pending,
  firing,
  clearing: { ...firing, ...clear },
  muted,
  mutedClearing: { ...muted, ...clear },
  flapping,
  flappingClearing: { ...flapping, ...clear },
  mutedFlapping: { ...muted, flapping: true },
  resolved,
} satisfies Record<string, IncidentPhase | null>;

/** It is minute 12: too early for a pending incident to fire or a clearing one to resolve. */
const events = {
  holds: holds(at(12)),
  silenced: holds(at(12), { silenced: true }),
  acknowledged: holds(at(12), { acknowledged: true }),
  holdsOfLate: holds(at(12), { flaps: "recently" }),
  tooOften: holds(at(12), { flaps: "too_often" }),
  tooOftenSilenced: holds(at(12), { flaps: "too_often", silenced: true }),
  clears: clears(at(12)),
  clearsOfLate: clears(at(12), { flaps: "recently" }),
  unseen: { kind: "unobserved", passed: at(2) },
  gone: { kind: "gone" },
  rule_removed: { kind: "rule_removed" },
} satisfies Record<string, IncidentEvent>;

type PhaseName = keyof typeof phases;
type EventName = keyof typeof events;

const quietly = (phase: IncidentPhase | null): Transition => ({ phase, step: null });
const nothing = quietly(null);
const dropped: Transition = { phase: null, step: "dropped" };
const stays = quietly(resolved);
const opened: Transition = { phase: { name: "pending", heldSince: at(12) }, step: "opened" };

const told = (step: IncidentStep, phase: Partial<typeof firing> = {}): Transition => ({
  phase: { ...firing, notifiedAtMs: 12 * minute, ...phase },
  step,
});
const ends = (reason: "gone" | "rule_removed" | "silenced"): Transition => ({
  phase: { name: "resolved", reason },
  step: "resolved",
});
const ended = { gone: ends("gone"), rule_removed: ends("rule_removed") };

const from12 = { clearSinceMs: 12 * minute } as const;
const shifted = { heldSince: at(7), ...from12 } as const;

const table: Record<PhaseName, Record<EventName, Transition>> = {
  none: {
    holds: opened,
    silenced: opened,
    acknowledged: opened,
    holdsOfLate: opened,
    tooOften: told("fired", { heldSince: at(12), flapping: true }),
    tooOftenSilenced: told("muted", { heldSince: at(12), flapping: true, notifiedAtMs: null }),
    clears: nothing,
    clearsOfLate: nothing,
    unseen: nothing,
    gone: nothing,
    rule_removed: nothing,
  },
  pending: {
    holds: quietly(pending),
    silenced: quietly(pending),
    acknowledged: quietly(pending),
    holdsOfLate: quietly(pending),
    tooOften: told("fired", { heldSince: at(10), flapping: true }),
    tooOftenSilenced: told("muted", { heldSince: at(10), flapping: true, notifiedAtMs: null }),
    clears: dropped,
    clearsOfLate: dropped,
    unseen: quietly({ name: "pending", heldSince: at(12) }),
    gone: dropped,
    rule_removed: dropped,
  },
  firing: {
    holds: quietly(firing),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsOfLate: quietly(firing),
    tooOften: told("flapping", { flapping: true }),
    tooOftenSilenced: ends("silenced"),
    clears: quietly({ ...firing, ...from12 }),
    clearsOfLate: quietly({ ...firing, ...from12 }),
    unseen: quietly(firing),
    ...ended,
  },
  clearing: {
    holds: quietly(firing),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsOfLate: quietly(firing),
    tooOften: told("flapping", { flapping: true }),
    tooOftenSilenced: ends("silenced"),
    clears: quietly(phases.clearing),
    clearsOfLate: quietly(phases.clearing),
    unseen: quietly({ ...firing, ...shifted, notifiedAtMs: 12 * minute }),
    ...ended,
  },
  muted: {
    holds: told("fired"),
    silenced: quietly(muted),
    acknowledged: told("fired"),
    holdsOfLate: told("fired"),
    tooOften: told("fired", { flapping: true }),
    tooOftenSilenced: quietly({ ...muted, flapping: true }),
    clears: quietly({ ...muted, ...from12 }),
    clearsOfLate: quietly({ ...muted, ...from12 }),
    unseen: quietly(muted),
    ...ended,
  },
  mutedClearing: {
    holds: told("fired"),
    silenced: quietly(muted),
    acknowledged: told("fired"),
    holdsOfLate: told("fired"),
    tooOften: told("fired", { flapping: true }),
    tooOftenSilenced: quietly({ ...muted, flapping: true }),
    clears: quietly(phases.mutedClearing),
    clearsOfLate: quietly(phases.mutedClearing),
    unseen: quietly({ ...muted, ...shifted }),
    ...ended,
  },
  flapping: {
    holds: told("settled"),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsOfLate: quietly(flapping),
    tooOften: quietly(flapping),
    tooOftenSilenced: ends("silenced"),
    clears: quietly({ ...flapping, ...from12 }),
    clearsOfLate: quietly({ ...flapping, ...from12 }),
    unseen: quietly(flapping),
    ...ended,
  },
  flappingClearing: {
    holds: told("settled"),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsOfLate: quietly(flapping),
    tooOften: quietly(flapping),
    tooOftenSilenced: ends("silenced"),
    clears: quietly(phases.flappingClearing),
    clearsOfLate: quietly(phases.flappingClearing),
    unseen: quietly({ ...flapping, ...shifted, notifiedAtMs: 12 * minute }),
    ...ended,
  },
  mutedFlapping: {
    holds: told("fired"),
    silenced: quietly(muted),
    acknowledged: told("fired"),
    holdsOfLate: told("fired", { flapping: true }),
    tooOften: told("fired", { flapping: true }),
    tooOftenSilenced: quietly(phases.mutedFlapping),
    clears: quietly({ ...phases.mutedFlapping, ...from12 }),
    clearsOfLate: quietly({ ...phases.mutedFlapping, ...from12 }),
    unseen: quietly(phases.mutedFlapping),
    ...ended,
  },
  resolved: {
    holds: stays,
    silenced: stays,
    acknowledged: stays,
    holdsOfLate: stays,
    tooOften: stays,
    tooOftenSilenced: stays,
    clears: stays,
    clearsOfLate: stays,
    unseen: stays,
    gone: stays,
    rule_removed: stays,
  },
};

const namesOf = <Name extends string>(record: Readonly<Record<Name, unknown>>): Name[] => {
  const isName = (key: string): key is Name => Object.hasOwn(record, key);
  return Object.keys(record).filter(isName);
};

describe("every phase meets every event", () => {
  const cells = namesOf(phases).flatMap((phase) =>
    namesOf(events).map((event) => ({ phase, event })),
  );

  it.each(cells)("$phase, $event", ({ phase, event }) => {
    expect(advanceIncident(phases[phase], events[event], timing)).toEqual(table[phase][event]);
  });

  const idle = cells.filter(({ phase, event }) => {
    const { phase: after, step } = table[phase][event];
    return step === null && JSON.stringify(after) === JSON.stringify(phases[phase]);
  });

  it.each(idle)("without effect keeps the very same phase: $phase, $event", ({ phase, event }) => {
    expect(advanceIncident(phases[phase], events[event], timing).phase).toBe(phases[phase]);
  });
});
