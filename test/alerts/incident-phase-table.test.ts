import { describe, expect, it } from "vitest";
import { advanceIncident } from "../../src/alerts/incident-phase.ts";
import type { IncidentEvent, IncidentPhase } from "../../src/alerts/incident-phase.ts";
import type { IncidentStep, IncidentTiming, Transition } from "../../src/alerts/incident-phase.ts";
import { at, clears, firingSince, holds, minute } from "./support/incident-events.ts";
import { inPolls, lasting } from "./support/watch.ts";

const justBefore = (minutes: number) => ({ ms: minutes * minute - 1, polls: minutes });

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
  holdsRecently: holds(at(12), { flaps: "recently" }),
  tooOften: holds(at(12), { flaps: "too_often" }),
  tooOftenSilenced: holds(at(12), { flaps: "too_often", silenced: true }),
  clears: clears(at(12)),
  clearsRecently: clears(at(12), { flaps: "recently" }),
  unobserved: { kind: "unobserved", passed: at(2) },
  gone: { kind: "gone" },
  rule_removed: { kind: "rule_removed" },
} satisfies Record<string, IncidentEvent>;

type PhaseName = keyof typeof phases;
type EventName = keyof typeof events;

const quietly = (phase: IncidentPhase | null): Transition => ({ phase, step: null });
const nothing = quietly(null);
const dropped: Transition = { phase: null, step: "dropped" };
const remains = quietly(resolved);
const opened: Transition = { phase: { name: "pending", heldSince: at(12) }, step: "opened" };

const notified = (step: IncidentStep, phase: Partial<typeof firing> = {}): Transition => ({
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
    holdsRecently: opened,
    tooOften: notified("fired", { heldSince: at(12), flapping: true }),
    tooOftenSilenced: notified("muted", { heldSince: at(12), flapping: true, notifiedAtMs: null }),
    clears: nothing,
    clearsRecently: nothing,
    unobserved: nothing,
    gone: nothing,
    rule_removed: nothing,
  },
  pending: {
    holds: quietly(pending),
    silenced: quietly(pending),
    acknowledged: quietly(pending),
    holdsRecently: quietly(pending),
    tooOften: notified("fired", { heldSince: at(10), flapping: true }),
    tooOftenSilenced: notified("muted", { heldSince: at(10), flapping: true, notifiedAtMs: null }),
    clears: dropped,
    clearsRecently: dropped,
    unobserved: quietly({ name: "pending", heldSince: at(12) }),
    gone: dropped,
    rule_removed: dropped,
  },
  firing: {
    holds: quietly(firing),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsRecently: quietly(firing),
    tooOften: notified("flapping", { flapping: true }),
    tooOftenSilenced: ends("silenced"),
    clears: quietly({ ...firing, ...from12 }),
    clearsRecently: quietly({ ...firing, ...from12 }),
    unobserved: quietly(firing),
    ...ended,
  },
  clearing: {
    holds: quietly(firing),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsRecently: quietly(firing),
    tooOften: notified("flapping", { flapping: true }),
    tooOftenSilenced: ends("silenced"),
    clears: quietly(phases.clearing),
    clearsRecently: quietly(phases.clearing),
    unobserved: quietly({ ...firing, ...shifted, notifiedAtMs: 12 * minute }),
    ...ended,
  },
  muted: {
    holds: notified("fired"),
    silenced: quietly(muted),
    acknowledged: notified("fired"),
    holdsRecently: notified("fired"),
    tooOften: notified("fired", { flapping: true }),
    tooOftenSilenced: quietly({ ...muted, flapping: true }),
    clears: quietly({ ...muted, ...from12 }),
    clearsRecently: quietly({ ...muted, ...from12 }),
    unobserved: quietly(muted),
    ...ended,
  },
  mutedClearing: {
    holds: notified("fired"),
    silenced: quietly(muted),
    acknowledged: notified("fired"),
    holdsRecently: notified("fired"),
    tooOften: notified("fired", { flapping: true }),
    tooOftenSilenced: quietly({ ...muted, flapping: true }),
    clears: quietly(phases.mutedClearing),
    clearsRecently: quietly(phases.mutedClearing),
    unobserved: quietly({ ...muted, ...shifted }),
    ...ended,
  },
  flapping: {
    holds: notified("settled"),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsRecently: quietly(flapping),
    tooOften: quietly(flapping),
    tooOftenSilenced: ends("silenced"),
    clears: quietly({ ...flapping, ...from12 }),
    clearsRecently: quietly({ ...flapping, ...from12 }),
    unobserved: quietly(flapping),
    ...ended,
  },
  flappingClearing: {
    holds: notified("settled"),
    silenced: ends("silenced"),
    acknowledged: quietly(firing),
    holdsRecently: quietly(flapping),
    tooOften: quietly(flapping),
    tooOftenSilenced: ends("silenced"),
    clears: quietly(phases.flappingClearing),
    clearsRecently: quietly(phases.flappingClearing),
    unobserved: quietly({ ...flapping, ...shifted, notifiedAtMs: 12 * minute }),
    ...ended,
  },
  mutedFlapping: {
    holds: notified("fired"),
    silenced: quietly(muted),
    acknowledged: notified("fired"),
    holdsRecently: notified("fired", { flapping: true }),
    tooOften: notified("fired", { flapping: true }),
    tooOftenSilenced: quietly(phases.mutedFlapping),
    clears: quietly({ ...phases.mutedFlapping, ...from12 }),
    clearsRecently: quietly({ ...phases.mutedFlapping, ...from12 }),
    unobserved: quietly(phases.mutedFlapping),
    ...ended,
  },
  resolved: {
    holds: remains,
    silenced: remains,
    acknowledged: remains,
    holdsRecently: remains,
    tooOften: remains,
    tooOftenSilenced: remains,
    clears: remains,
    clearsRecently: remains,
    unobserved: remains,
    gone: remains,
    rule_removed: remains,
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

it.each<[string, IncidentPhase, IncidentEvent, IncidentEvent, IncidentStep, object?]>([
  ["`for`", pending, holds(justBefore(15)), holds(at(15)), "fired"],
  [
    "`for` in polls, the first included",
    pending,
    holds(at(11)),
    holds(at(12)),
    "fired",
    { hold: inPolls(3) },
  ],
  ["`keep_firing_for`", phases.clearing, clears(justBefore(13)), clears(at(13)), "resolved"],
  [
    "`remind_every`",
    firing,
    holds(justBefore(15)),
    holds(at(15)),
    "reminded",
    { remindEveryMs: 5 * minute },
  ],
])("%s is over to the millisecond", (_, phase, early, due, step, more) => {
  expect(advanceIncident(phase, early, { ...timing, ...more }).step).toBeNull();
  expect(advanceIncident(phase, due, { ...timing, ...more }).step).toBe(step);
});
