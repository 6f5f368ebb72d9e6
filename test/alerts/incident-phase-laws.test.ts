import * as fc from "fast-check";
import { expect, it } from "vitest";
import { advanceIncident } from "../../src/alerts/incident-phase.ts";
import type {
  ClockReading,
  IncidentEvent,
  IncidentPhase,
  IncidentStep,
  IncidentTiming,
  Transition,
} from "../../src/alerts/incident-phase.ts";
import { incidentFromRow, incidentToRow } from "../../src/store/incidents.ts";
import { clears, holds } from "./support/incident-events.ts";

const durations = fc.constantFrom(0, 1, 20_000, 60_000, 200_000);

const timings: fc.Arbitrary<IncidentTiming> = fc.record({
  hold: fc.oneof(
    fc.record({ kind: fc.constant("duration" as const), ms: durations }),
    fc.record({ kind: fc.constant("polls" as const), polls: fc.integer({ min: 1, max: 4 }) }),
  ),
  keepFiringForMs: durations,
  remindEveryMs: fc.option(fc.constantFrom(1, 40_000, 120_000), { nil: null }),
});

const move = fc.record({
  kind: fc.constantFrom(
    ...(["holds", "holds", "holds", "clears", "unobserved", "gone", "rule_removed"] as const),
  ),
  ms: fc.constantFrom(0, 10_000, 30_000, 90_000),
  silenced: fc.constantFrom(false, false, false, true),
  acknowledged: fc.constantFrom(false, false, false, true),
  flaps: fc.constantFrom(...(["no", "no", "recently", "too_often"] as const)),
});
const moves = fc.array(move, { maxLength: 30 });
type Move = typeof move extends fc.Arbitrary<infer Value> ? Value : never;

function eventOf({ kind, ms, flaps, ...said }: Move, now: ClockReading): IncidentEvent {
  switch (kind) {
    case "holds":
      return holds(now, { flaps, ...said });
    case "clears":
      return clears(now, { flaps });
    case "unobserved":
      return { kind, passed: { ms, polls: 1 } };
    case "gone":
    case "rule_removed":
      return { kind };
  }
}

interface Seen {
  readonly before: IncidentPhase | null;
  readonly now: ClockReading;
  readonly event: IncidentEvent;
  readonly after: Transition;
  readonly timing: IncidentTiming;
}

/** Checks each transition of one life after another: after an incident that ended comes the next one. */
function checkAll(visit: (seen: Seen) => void): void {
  fc.assert(
    fc.property(moves, timings, (played, timing) => {
      let before: IncidentPhase | null = null;
      let now: ClockReading = { ms: 1_000, polls: 1 };
      for (const each of played) {
        now = { ms: now.ms + each.ms, polls: now.polls + 1 };
        const event = eventOf(each, now);
        const after: Transition = advanceIncident(before, event, timing);
        visit({ before, now, event, after, timing });
        before = after.phase?.name === "resolved" ? null : after.phase;
      }
    }),
  );
}

function isNotified(phase: IncidentPhase | null): boolean {
  return phase?.name === "firing" && phase.notifiedAtMs !== null;
}

it("an incident fires once at most, and resolves only if it fired", () => {
  let life = "";
  const check = (): void =>
    expect(life).toMatch(
      /^( opened)?( dropped| muted( resolved)?|( muted)? fired( (reminded|flapping|settled))*( resolved)?)?$/,
    );
  checkAll(({ before, after: { step } }) => {
    if (before === null) {
      check();
      life = "";
    }
    if (step !== null) life += ` ${step}`;
  });
  check();
});

it("an incident that is resolved changes no more", () => {
  const reasons = fc.constantFrom("recovered", "gone", "silenced", "rule_removed");
  fc.assert(
    fc.property(reasons, move, timings, (reason, each, timing) => {
      const phase = { name: "resolved", reason } as const;
      const late = eventOf(each, { ms: 1e9, polls: 1e6 });
      expect(advanceIncident(phase, late, timing)).toEqual({ phase, step: null });
    }),
  );
});

const waysOf: Readonly<Record<IncidentStep | "none", readonly string[]>> = {
  opened: ["none -> pending"],
  dropped: ["pending -> none"],
  fired: ["none -> firing", "pending -> firing", "firing -> firing"],
  muted: ["none -> firing", "pending -> firing"],
  reminded: ["firing -> firing"],
  flapping: ["firing -> firing"],
  settled: ["firing -> firing"],
  resolved: ["firing -> resolved"],
  none: ["none -> none", "pending -> pending", "firing -> firing"],
};

it("every step goes with the phases that it leads from and to", () => {
  checkAll(({ before, after: { step, phase } }) => {
    const way = `${before?.name ?? "none"} -> ${phase?.name ?? "none"}`;
    expect(waysOf[step ?? "none"]).toContain(way);
  });
});

it("inside a silence nothing is notified but the end of what was notified", () => {
  checkAll(({ before, event, after: { phase, step } }) => {
    if (event.kind !== "holds" || !event.silenced) return;
    expect([null, "opened", "muted", "resolved"]).toContain(step);
    expect(isNotified(phase)).toBe(false);
    expect(step === "resolved").toBe(isNotified(before));
  });
});

it("what flaps is notified only when it begins to and when it settled", () => {
  checkAll(({ before, event, after: { step } }) => {
    if (before?.name !== "firing" || !before.flapping || before.notifiedAtMs === null) return;
    if (event.kind !== "clears" && (event.kind !== "holds" || event.silenced)) return;
    const settled = event.kind === "holds" ? "settled" : "resolved";
    expect([null, ...(event.flaps === "no" ? [settled] : [])]).toContain(step);
  });
});

it("an unobserved subject is as if its clock had stood still", () => {
  const later = (reading: ClockReading, by: ClockReading): ClockReading => ({
    ms: reading.ms + by.ms,
    polls: reading.polls + by.polls,
  });
  const stretches = fc.sample(
    fc.record({
      ms: fc.constantFrom(1, 30_000, 50_000, 150_000),
      polls: fc.integer({ min: 1, max: 3 }),
    }),
    { numRuns: 100, seed: 7 },
  );
  let drawn = 0;
  const draw = (): ClockReading => stretches[drawn++ % stretches.length] ?? { ms: 1, polls: 1 };
  checkAll(({ now, after: { phase }, timing }) => {
    if (phase === null) return;
    const [passed, next] = [draw(), draw()];
    const shifted = advanceIncident(phase, { kind: "unobserved", passed }, timing).phase;
    const soon = later(now, next);
    for (const observed of [holds, clears]) {
      const without = advanceIncident(phase, observed(soon), timing);
      const event = observed(later(soon, passed));
      expect(advanceIncident(shifted, event, timing).step).toBe(without.step);
    }
  });
});

it("a phase is the same after it was stored and read again", () => {
  const incident = {
    id: "incident-1",
    rule: "server-error",
    ruleFingerprint: "fingerprint",
    severity: "critical",
    receivers: ["oncall"],
    subject: { kind: "server", sandboxId: "box", serverId: "a", serverName: null },
    status: "error",
    previousStatus: "absent",
    startedAtMs: 1,
    firedAtMs: 2,
    resolvedAtMs: null,
  } as const;
  checkAll(({ after: { phase } }) => {
    if (phase === null) return;
    const row = { ...blankRow, ...incidentToRow(1, { ...incident, phase }) };
    expect(incidentFromRow(row)).toEqual({ ...incident, phase });
  });
});

/** The columns that a written row may leave to their default. */
const blankRow = {
  target_id: null,
  region: null,
  key: null,
  probe: null,
  receiver: null,
  status: null,
  previous_status: null,
  sandbox_id: null,
  server_id: null,
  server_name: null,
  clear_since_ms: null,
  notified_at_clock_ms: null,
  fired_at_ms: null,
  resolved_at_ms: null,
  resolved_reason: null,
};
