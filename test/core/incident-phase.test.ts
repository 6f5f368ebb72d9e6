import { describe, expect, it } from "vitest";
import { advanceIncident } from "../../src/core/incident-phase.ts";
import type {
  ClockReading,
  IncidentEvent,
  IncidentPhase,
  IncidentTiming,
  Transition,
} from "../../src/core/incident-phase.ts";
import { clears, firingSince, holds } from "./support/incident-events.ts";
import { atOnce, inPolls, lasting } from "./support/samples.ts";

const minute = 60_000;
const at = (minutes: number): ClockReading => ({ ms: minutes * minute, polls: minutes });

const timing: IncidentTiming = {
  hold: lasting(5 * minute),
  keepFiringForMs: 3 * minute,
  remindEveryMs: null,
};

type PhaseName = "none" | "pending" | "firing" | "clearing" | "resolved";
type EventKind = IncidentEvent["kind"];

const firing = firingSince(at(10), 15 * minute);

const phases = {
  none: null,
  pending: { name: "pending", heldSince: at(10) },
  firing,
  clearing: { ...firing, clearSinceMs: 10 * minute },
  resolved: { name: "resolved", reason: "recovered" },
} satisfies Record<PhaseName, IncidentPhase | null>;

/** It is minute 12: too early for a pending incident to fire or a clearing one to resolve. */
const events = {
  holds: holds(at(12)),
  clears: clears(at(12)),
  unseen: { kind: "unseen", passed: at(2) },
  gone: { kind: "gone" },
  rule_removed: { kind: "rule_removed" },
} satisfies { [Kind in EventKind]: IncidentEvent & { kind: Kind } };

const nothing: Transition = { phase: null, step: null };
const dropped: Transition = { phase: null, step: "dropped" };
const staysResolved: Transition = { phase: phases.resolved, step: null };
const resolvedAsGone: Transition = {
  phase: { name: "resolved", reason: "gone" },
  step: "resolved",
};
const resolvedWithRule: Transition = {
  phase: { name: "resolved", reason: "rule_removed" },
  step: "resolved",
};

const table = {
  none: {
    holds: { phase: { name: "pending", heldSince: at(12) }, step: "opened" },
    clears: nothing,
    unseen: nothing,
    gone: nothing,
    rule_removed: nothing,
  },
  pending: {
    holds: { phase: phases.pending, step: null },
    clears: dropped,
    unseen: { phase: { name: "pending", heldSince: at(12) }, step: null },
    gone: dropped,
    rule_removed: dropped,
  },
  firing: {
    holds: { phase: firing, step: null },
    clears: { phase: { ...firing, clearSinceMs: 12 * minute }, step: null },
    unseen: { phase: firing, step: null },
    gone: resolvedAsGone,
    rule_removed: resolvedWithRule,
  },
  clearing: {
    holds: { phase: firing, step: null },
    clears: { phase: phases.clearing, step: null },
    unseen: {
      phase: {
        ...firing,
        heldSince: at(12),
        clearSinceMs: 12 * minute,
        toldAtMs: 17 * minute,
      },
      step: null,
    },
    gone: resolvedAsGone,
    rule_removed: resolvedWithRule,
  },
  resolved: {
    holds: staysResolved,
    clears: staysResolved,
    unseen: staysResolved,
    gone: staysResolved,
    rule_removed: staysResolved,
  },
} satisfies Record<PhaseName, Record<EventKind, Transition>>;

describe("every phase meets every event", () => {
  const phaseNames = ["none", "pending", "firing", "clearing", "resolved"] as const;
  const kinds = ["holds", "clears", "unseen", "gone", "rule_removed"] as const;
  // A phase or an event missing from the lists above would leave its cells untried.
  const cells = phaseNames.flatMap((phase) => kinds.map((kind) => ({ phase, kind })));

  it("has a test for each cell of the table", () => {
    expect(cells).toHaveLength(Object.values(table).flatMap((row) => Object.keys(row)).length);
  });

  it.each(cells)("$phase, $kind", ({ phase, kind }) => {
    expect(advanceIncident(phases[phase], events[kind], timing)).toEqual(table[phase][kind]);
  });

  it.each([
    ["pending", "holds"],
    ["firing", "holds"],
    ["clearing", "clears"],
    ["resolved", "gone"],
  ] as const)("without effect keeps the very same phase: %s, %s", (name, kind) => {
    expect(advanceIncident(phases[name], events[kind], timing).phase).toBe(phases[name]);
  });
});

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
    expect(reminded).toEqual({ phase: { ...firing, toldAtMs: 26 * minute }, step: "reminded" });
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
    expect(reminded).toEqual({ phase: { ...firing, toldAtMs: 40 * minute }, step: "reminded" });
  });
});
