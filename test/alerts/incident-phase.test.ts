import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advanceIncident } from "../../src/alerts/incident-phase.ts";
import type {
  ClockReading,
  IncidentEvent,
  IncidentPhase,
} from "../../src/alerts/incident-phase.ts";
import type { IncidentStep, IncidentTiming, Transition } from "../../src/alerts/incident-phase.ts";
import { inPolls, lasting } from "./support/watch.ts";

type Holds = Extract<IncidentEvent, { kind: "holds" }>;
type Ends = Extract<IncidentEvent, { kind: "clears" | "gone" }>;

const minute = 60_000;
const at = (minutes: number): ClockReading => ({ ms: minutes * minute, polls: minutes });
const holds = (now: ClockReading, more: Partial<Holds> = {}): Holds => {
  const nothing = { silenced: false, inhibited: false, acknowledged: false, flaps: "no" } as const;
  return { kind: "holds", now, ...nothing, ...more };
};
const clears = (now: ClockReading, more: Partial<Ends> = {}): Ends => {
  return { kind: "clears", now, flaps: "no", ...more };
};
const gone = (more: Partial<Ends> = {}): Ends => clears(at(12), { kind: "gone", ...more });
const firingSince = (heldSince: ClockReading, notifiedAtMs: number | null) =>
  ({ name: "firing", heldSince, clearSinceMs: null, notifiedAtMs, flapping: false }) as const;

const timing: IncidentTiming = {
  hold: lasting(5 * minute),
  keepFiringForMs: 3 * minute,
  remindEveryMs: null,
};

const pending: IncidentPhase = { name: "pending", heldSince: at(10) };
const firing = firingSince(at(5), 10 * minute);
const muted = firingSince(at(5), null);
const clear = { clearSinceMs: 10 * minute };
const flapping = { flapping: true };

const phases = new Map<string, IncidentPhase | null>([
  ["none", null],
  ["pending", pending],
  ["firing", firing],
  ["clearing", { ...firing, ...clear }],
  ["muted", muted],
  ["mutedClearing", { ...muted, ...clear }],
  ["flapping", { ...firing, ...flapping }],
  ["flappingClearing", { ...firing, ...flapping, ...clear }],
  ["mutedFlapping", { ...muted, ...flapping }],
  ["resolved", { name: "resolved", reason: "recovered" }],
]);

/** It is minute 12: too early for a pending incident to fire or a clearing one to resolve. */
const events = new Map<string, IncidentEvent>([
  ["holds", holds(at(12))],
  ["silenced", holds(at(12), { silenced: true })],
  ["acknowledged", holds(at(12), { acknowledged: true })],
  ["recently", holds(at(12), { flaps: "recently" })],
  ["tooOften", holds(at(12), { flaps: "too_often" })],
  ["inhibited", holds(at(12), { inhibited: true })],
  ["tooOftenInhibited", holds(at(12), { flaps: "too_often", inhibited: true })],
  ["tooOftenSilenced", holds(at(12), { flaps: "too_often", silenced: true })],
  ["clears", clears(at(12))],
  ["clearsRecently", clears(at(12), { flaps: "recently" })],
  ["unobserved", { kind: "unobserved", passed: at(2) }],
  ["gone", gone()],
  ["goneRecently", gone({ flaps: "recently" })],
  ["rule_removed", { kind: "rule_removed" }],
]);

/** `-`: the very same phase, and no step. `~`: flapping. The others are in `outcomes`. */
const table = `
                  none    pending  firing    clearing  muted    mutedClearing  flapping  flappingClearing  mutedFlapping  resolved
holds             opened  -        -         holds     fired    fired          settled   settled           fired          -
silenced          opened  -        silenced  silenced  -        holds          silenced  silenced          holds          -
acknowledged      opened  -        -         holds     fired    fired          holds     holds             fired          -
recently          opened  -        -         holds     fired    fired          -         holds~            fired~         -
tooOften          fired~  fired~   flapping  flapping  fired~   fired~         -         holds~            fired~         -
inhibited         opened  -        -         holds     -        holds          holds     holds             holds          -
tooOftenInhibited inhibited~ inhibited~ holds~ holds~ holds~   holds~         -         holds~            -              -
tooOftenSilenced  muted~  muted~   silenced  silenced  holds~   holds~         silenced  silenced          -              -
clears            -       dropped  clears    -         clears   -              clears    -                 clears         -
clearsRecently    -       dropped  clears    -         clears   -              clears    -                 clears         -
unobserved        -       shifts   -         shifts    -        shifts         -         shifts            -              -
gone              -       dropped  gone      gone      gone     gone           gone      gone              gone           -
goneRecently      -       dropped  gone      gone      gone     gone           clears    -                 clears         -
rule_removed      -       dropped  removed   removed   removed  removed        removed   removed           removed        -
`;

const ends = (reason: "gone" | "rule_removed" | "silenced"): Transition => ({
  phase: { name: "resolved", reason },
  step: "resolved",
});

/** What a cell of the table stands for, in a phase. */
function outcomeOf(cell: string, phase: IncidentPhase | null): Transition {
  const held = phase?.name === "firing" ? phase : firingSince(phase ? at(10) : at(12), null);
  const holding = { ...held, clearSinceMs: null, flapping: cell.endsWith("~") };
  const notified = (step: IncidentStep, isFlapping = holding.flapping): Transition => ({
    phase: { ...holding, flapping: isFlapping, notifiedAtMs: 12 * minute },
    step,
  });
  switch (cell.replace("~", "")) {
    case "-":
      return { phase, step: null };
    case "opened":
      return { phase: { name: "pending", heldSince: at(12) }, step: "opened" };
    case "dropped":
      return { phase: null, step: "dropped" };
    case "fired":
    case "settled":
      return notified(cell.startsWith("f") ? "fired" : "settled");
    case "flapping":
      return notified("flapping", true);
    case "muted":
    case "inhibited":
      return { phase: holding, step: cell.startsWith("m") ? "muted" : "inhibited" };
    case "holds":
      return { phase: holding, step: null };
    case "clears":
      return { phase: { ...held, clearSinceMs: 12 * minute }, step: null };
    case "shifts": {
      const shifted = { heldSince: at(7), clearSinceMs: 12 * minute };
      const notifiedAtMs = held.notifiedAtMs === null ? null : 12 * minute;
      return phase?.name === "pending"
        ? { phase: { name: "pending", heldSince: at(12) }, step: null }
        : { phase: { ...held, ...shifted, notifiedAtMs }, step: null };
    }
    case "removed":
      return ends("rule_removed");
    default:
      return ends(cell === "gone" ? "gone" : "silenced");
  }
}

describe("every phase meets every event", () => {
  const [header = [], ...rows] = table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/ +/));
  const cells = rows.flatMap(([event = "", ...outcomes]) =>
    outcomes.map((cell, column) => [header[column] ?? "", event, cell] as const),
  );

  it("is a complete table", () => {
    expect(header).toEqual([...phases.keys()]);
    expect(rows.map(([event]) => event)).toEqual([...events.keys()]);
    expect(cells).toHaveLength(phases.size * events.size);
  });

  it.each(cells)("%s, %s: %s", (name, eventName, cell) => {
    const phase = phases.get(name) ?? null;
    const event = events.get(eventName) ?? gone();
    const transition = advanceIncident(phase, event, timing);
    expect(transition).toEqual(outcomeOf(cell, phase));
    expect(transition.phase === phase).toBe(cell === "-");
  });
});

const justBefore = (minutes: number) => ({ ms: minutes * minute - 1, polls: minutes });

it.each<[string, IncidentPhase, IncidentEvent, IncidentEvent, IncidentStep, object?]>([
  ["`for`", pending, holds(justBefore(15)), holds(at(15)), "fired"],
  ["`for` in polls", pending, holds(at(11)), holds(at(12)), "fired", { hold: inPolls(3) }],
  [
    "`keep_firing_for`",
    { ...firing, ...clear },
    clears(justBefore(13)),
    clears(at(13)),
    "resolved",
  ],
  [
    "`remind_every`",
    firing,
    holds(justBefore(15)),
    holds(at(15)),
    "reminded",
    { remindEveryMs: 5 * minute },
  ],
])(
  "%s is over to the millisecond, and counts the first poll",
  (_, phase, early, due, step, more) => {
    expect(advanceIncident(phase, early, { ...timing, ...more }).step).toBeNull();
    expect(advanceIncident(phase, due, { ...timing, ...more }).step).toBe(step);
  },
);

/** Plays one life after another: after an incident that ended comes the next one. */
function playLives(
  visit: (
    before: IncidentPhase | null,
    after: Transition,
    now: ClockReading,
    by: IncidentTiming,
  ) => void,
): void {
  const durations = fc.constantFrom(0, 1, 20_000, 60_000, 200_000);
  const timings = fc.record<IncidentTiming>({
    hold: fc.oneof(durations.map(lasting), fc.integer({ min: 1, max: 4 }).map(inPolls)),
    keepFiringForMs: durations,
    remindEveryMs: fc.option(fc.constantFrom(1, 40_000, 120_000), { nil: null }),
  });
  const moves = fc.array(
    fc.record({
      event: fc.constantFrom(...events.values(), holds(at(0)), holds(at(0))),
      ms: fc.constantFrom(0, 10_000, 30_000, 90_000),
    }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(moves, timings, (played, by) => {
      let before: IncidentPhase | null = null;
      let now: ClockReading = { ms: 1_000, polls: 1 };
      for (const { event, ms } of played) {
        now = { ms: now.ms + ms, polls: now.polls + 1 };
        const after: Transition = advanceIncident(
          before,
          "now" in event ? { ...event, now } : event,
          by,
        );
        visit(before, after, now, by);
        before = after.phase?.name === "resolved" ? null : after.phase;
      }
    }),
  );
}

it("an incident fires once at most, and resolves only if it fired", () => {
  const lives: string[] = [];
  playLives((before, { step }) => {
    if (before === null) lives.push("");
    if (step !== null) lives.push(`${lives.pop()} ${step}`);
  });
  for (const life of lives) {
    expect(life).toMatch(
      /^( opened)?( dropped| (muted|inhibited)( resolved)?|( muted| inhibited)? fired( (reminded|flapping|settled))*( resolved)?)?$/,
    );
  }
});

it("an unobserved subject is as if its clock had stood still", () => {
  const later = (reading: ClockReading, by: ClockReading): ClockReading => ({
    ms: reading.ms + by.ms,
    polls: reading.polls + by.polls,
  });
  const passed = { ms: 50_000, polls: 2 };
  playLives((_, { phase }, now, by) => {
    if (phase === null) return;
    const shifted = advanceIncident(phase, { kind: "unobserved", passed }, by).phase;
    for (const ms of [1, 30_000, 150_000]) {
      const soon = later(now, { ms, polls: 1 });
      for (const observed of [holds, clears]) {
        const { step } = advanceIncident(phase, observed(soon), by);
        expect(advanceIncident(shifted, observed(later(soon, passed)), by).step).toBe(step);
      }
    }
  });
});
