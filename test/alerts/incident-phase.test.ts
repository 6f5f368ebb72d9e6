import { describe, expect, it } from "vitest";
import { advanceIncident } from "../../src/alerts/incident-phase.ts";
import type { ClockReading, IncidentTiming, Transition } from "../../src/alerts/incident-phase.ts";
import { clears, firingSince, holds } from "./support/incident-events.ts";
import { atOnce, inPolls, lasting } from "./support/samples.ts";

const minute = 60_000;
const at = (minutes: number): ClockReading => ({ ms: minutes * minute, polls: minutes });

const timing: IncidentTiming = {
  hold: lasting(5 * minute),
  keepFiringForMs: 3 * minute,
  remindEveryMs: null,
};

const firing = firingSince(at(10), 15 * minute);

const phases = {
  pending: { name: "pending", heldSince: at(10) },
  clearing: { ...firing, clearSinceMs: 10 * minute },
} as const;

/** It is minute 12: too early for a pending incident to fire or a clearing one to resolve. */
const events = {
  holds: holds(at(12)),
  unseen: { kind: "unobserved", passed: at(2) },
} as const;

describe("`for`", () => {
  const hold = (since: number, now: number, more: Partial<IncidentTiming>): Transition =>
    advanceIncident({ name: "pending", heldSince: at(since) }, holds(at(now)), {
      ...timing,
      ...more,
    });

  it("fires at the first sight when it is zero", () => {
    const first = advanceIncident(null, events.holds, { ...timing, hold: atOnce });
    expect(first).toEqual({
      phase: firingSince(at(12), 12 * minute),
      step: "fired",
    });
  });

  it("fires at the first sight when it is one poll", () => {
    expect(advanceIncident(null, events.holds, { ...timing, hold: inPolls(1) }).step).toBe("fired");
  });

  it("fires when the duration is reached to the millisecond, and remembers since when it held", () => {
    const justBefore = { ms: 15 * minute - 1, polls: 15 };
    const early = advanceIncident(phases.pending, holds(justBefore), timing);
    expect(early).toEqual({ phase: phases.pending, step: null });
    expect(hold(10, 15, {})).toEqual({ phase: firing, step: "fired" });
  });

  it("counts the first of its polls", () => {
    expect(hold(10, 11, { hold: inPolls(3) }).step).toBeNull();
    expect(hold(10, 12, { hold: inPolls(3) }).step).toBe("fired");
  });

  it("does not count what passed unseen, neither time nor polls", () => {
    const shifted = advanceIncident(phases.pending, events.unseen, timing).phase;
    expect(advanceIncident(shifted, holds(at(16)), timing).step).toBeNull();
    expect(advanceIncident(shifted, holds(at(17)), timing).step).toBe("fired");
    const polls = { ...timing, hold: inPolls(3) };
    expect(advanceIncident(shifted, holds(at(13)), polls).step).toBeNull();
    expect(advanceIncident(shifted, holds(at(14)), polls).step).toBe("fired");
  });
});

describe("keep_firing_for", () => {
  it("left at zero lets an incident resolve the moment it clears", () => {
    expect(advanceIncident(firing, clears(at(16)), { ...timing, keepFiringForMs: 0 })).toEqual({
      phase: { name: "resolved", reason: "recovered" },
      step: "resolved",
    });
  });

  it("resolves when it has run out, not before", () => {
    const early = clears({ ms: 13 * minute - 1, polls: 13 });
    expect(advanceIncident(phases.clearing, early, timing).step).toBeNull();
    expect(advanceIncident(phases.clearing, clears(at(13)), timing).step).toBe("resolved");
  });

  it("starts again when the condition holds in between", () => {
    const back = advanceIncident(phases.clearing, events.holds, timing).phase;
    const again = advanceIncident(back, clears(at(14)), timing).phase;
    expect(advanceIncident(again, clears(at(16)), timing).step).toBeNull();
    expect(advanceIncident(again, clears(at(17)), timing).step).toBe("resolved");
  });

  it("does not run while the subject is unseen", () => {
    const shifted = advanceIncident(phases.clearing, events.unseen, timing).phase;
    expect(advanceIncident(shifted, clears(at(14)), timing).step).toBeNull();
    expect(advanceIncident(shifted, clears(at(15)), timing).step).toBe("resolved");
  });
});

describe("remind_every", () => {
  const reminding = { ...timing, remindEveryMs: 10 * minute };

  it("reminds that long after it was told, and then again that long after the reminder", () => {
    expect(advanceIncident(firing, holds(at(24)), reminding).step).toBeNull();
    const reminded = advanceIncident(firing, holds(at(26)), reminding);
    expect(reminded).toEqual({ phase: { ...firing, notifiedAtMs: 26 * minute }, step: "reminded" });
    expect(advanceIncident(reminded.phase, holds(at(35)), reminding).step).toBeNull();
    expect(advanceIncident(reminded.phase, holds(at(36)), reminding).step).toBe("reminded");
  });

  it("does not count the time for which the subject was unseen", () => {
    const shifted = advanceIncident(firing, events.unseen, reminding).phase;
    expect(advanceIncident(shifted, holds(at(26)), reminding).step).toBeNull();
    expect(advanceIncident(shifted, holds(at(27)), reminding).step).toBe("reminded");
  });

  it("reminds of nothing that is clearing", () => {
    const patient = { ...reminding, keepFiringForMs: 60 * minute };
    expect(advanceIncident(firing, clears(at(30)), patient).step).toBeNull();
  });

  it("takes back that it was clearing when it reminds", () => {
    const reminded = advanceIncident(phases.clearing, holds(at(40)), reminding);
    expect(reminded).toEqual({ phase: { ...firing, notifiedAtMs: 40 * minute }, step: "reminded" });
  });
});

describe("a silence", () => {
  const silenced = (minutes: number) => holds(at(minutes), { silenced: true });

  it("does not keep an incident from firing, only from being told", () => {
    const muted = advanceIncident(phases.pending, silenced(15), timing);
    expect(muted).toEqual({ phase: firingSince(at(10), null), step: "muted" });
    expect(advanceIncident(muted.phase, silenced(90), { ...timing, remindEveryMs: 1 }).phase).toBe(
      muted.phase,
    );
  });

  it("that ends has what it kept back told, with reminders from then on", () => {
    const reminding = { ...timing, remindEveryMs: 10 * minute };
    const told = advanceIncident(firingSince(at(10), null), holds(at(20)), reminding);
    expect(told).toEqual({ phase: firingSince(at(10), 20 * minute), step: "fired" });
    expect(advanceIncident(told.phase, holds(at(29)), reminding).step).toBeNull();
    expect(advanceIncident(told.phase, holds(at(30)), reminding).step).toBe("reminded");
  });

  it("that ends after the condition did has nothing told but the end, of which nobody was told", () => {
    const clearing = advanceIncident(firingSince(at(10), null), clears(at(20)), timing).phase;
    expect(clearing).toEqual(firingSince(at(10), null, { clearSinceMs: 20 * minute }));
    expect(advanceIncident(clearing, clears(at(23)), timing).step).toBe("resolved");
  });

  it("does not take back what is clearing already: that comes to its own end", () => {
    expect(advanceIncident(phases.clearing, clears(at(13)), timing).phase).toEqual({
      name: "resolved",
      reason: "recovered",
    });
  });
});

describe("an acknowledged incident", () => {
  const reminding = { ...timing, remindEveryMs: minute };
  const known = { acknowledged: true } as const;

  it("is not reminded of, nor told to flap or to settle, and still resolves", () => {
    expect(advanceIncident(firing, holds(at(90), known), reminding).phase).toBe(firing);
    const flapping = { ...firing, flapping: true };
    const often = holds(at(90), { ...known, flaps: "too_often" });
    expect(advanceIncident(firing, often, reminding)).toEqual({ phase: flapping, step: null });
    expect(advanceIncident(flapping, holds(at(90), known), reminding)).toEqual({
      phase: firing,
      step: null,
    });
    const impatient = { ...reminding, keepFiringForMs: 0 };
    expect(advanceIncident(firing, clears(at(90)), impatient).step).toBe("resolved");
  });

  it("is reminded of again when that was taken back", () => {
    expect(advanceIncident(firing, holds(at(90)), reminding).step).toBe("reminded");
  });
});

describe("an incident that flaps", () => {
  const flapping = { ...firing, flapping: true };
  const impatient = { ...timing, keepFiringForMs: 0, remindEveryMs: minute };

  it("does not resolve while it may come back, however long `keep_firing_for` ran", () => {
    const cleared = advanceIncident(flapping, clears(at(16), { flaps: "too_often" }), impatient);
    expect(cleared).toEqual({ phase: { ...flapping, clearSinceMs: 16 * minute }, step: null });
    const later = advanceIncident(cleared.phase, clears(at(90), { flaps: "recently" }), impatient);
    expect(later).toEqual(cleared);
    expect(advanceIncident(later.phase, clears(at(91)), impatient).step).toBe("resolved");
  });

  it("having settled resolves only when `keep_firing_for` ran out too", () => {
    const clearing = { ...flapping, clearSinceMs: 16 * minute };
    expect(advanceIncident(clearing, clears(at(18)), timing).step).toBeNull();
    expect(advanceIncident(clearing, clears(at(19)), timing).step).toBe("resolved");
  });

  it("is not reminded of before it settled, and then that long after it was told to have", () => {
    const often = holds(at(40), { flaps: "recently" });
    expect(advanceIncident(flapping, often, impatient).step).toBeNull();
    const settled = advanceIncident(flapping, holds(at(41)), impatient);
    expect(settled).toEqual({ phase: { ...firing, notifiedAtMs: 41 * minute }, step: "settled" });
    expect(advanceIncident(settled.phase, holds(at(42)), impatient).step).toBe("reminded");
  });
});
