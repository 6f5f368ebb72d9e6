import * as fc from "fast-check";
import { expect, it } from "vitest";
import { advanceIncident } from "../../src/alerts/incident-phase.ts";
import type {
  ClockReading,
  Flaps,
  IncidentEvent,
  IncidentPhase,
  IncidentStep,
  IncidentTiming,
  Transition,
} from "../../src/alerts/incident-phase.ts";
import { clears, holds } from "./support/incident-events.ts";
import { incidentFromRow, incidentToRow } from "../../src/store/incidents.ts";
import type { Incident } from "../../src/alerts/incident.ts";

const durations = fc.constantFrom(0, 1, 20_000, 60_000, 200_000);

const timings: fc.Arbitrary<IncidentTiming> = fc.record({
  hold: fc.oneof(
    fc.record({ kind: fc.constant("duration" as const), ms: durations }),
    fc.record({ kind: fc.constant("polls" as const), polls: fc.integer({ min: 1, max: 4 }) }),
  ),
  keepFiringForMs: durations,
  remindEveryMs: fc.option(fc.constantFrom(1, 40_000, 120_000), { nil: null }),
});

const moves = fc.array(
  fc.record({
    kind: fc.constantFrom(
      ...(["holds", "holds", "holds", "clears", "unobserved", "gone", "rule_removed"] as const),
    ),
    ms: fc.constantFrom(0, 10_000, 30_000, 90_000),
    silenced: fc.constantFrom(false, false, false, true),
    acknowledged: fc.constantFrom(false, false, false, true),
    flaps: fc.constantFrom(...(["no", "no", "recently", "too_often"] as const)),
  }),
  { maxLength: 30 },
);

interface Move {
  readonly kind: IncidentEvent["kind"];
  readonly ms: number;
  readonly silenced: boolean;
  readonly acknowledged: boolean;
  readonly flaps: Flaps;
}

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

/** One life after another: an incident that ended makes room for the next one. */
function live(played: readonly Move[], timing: IncidentTiming, visit: (seen: Seen) => void): void {
  let phase: IncidentPhase | null = null;
  let now: ClockReading = { ms: 1_000, polls: 1 };
  for (const move of played) {
    now = { ms: now.ms + move.ms, polls: now.polls + 1 };
    const event = eventOf(move, now);
    const after: Transition = advanceIncident(phase, event, timing);
    visit({ before: phase, now, event, after });
    phase = after.phase?.name === "resolved" ? null : after.phase;
  }
}

interface Seen {
  readonly before: IncidentPhase | null;
  readonly now: ClockReading;
  readonly event: IncidentEvent;
  readonly after: Transition;
}

it("an incident fires once at most, and resolves only if it fired", () => {
  fc.assert(
    fc.property(moves, timings, (played, timing) => {
      let life: IncidentStep[] = [];
      const lives = [life];
      live(played, timing, ({ before, after: { step } }) => {
        if (before === null) lives.push((life = []));
        if (step !== null) life.push(step);
      });
      for (const each of lives) {
        expect(each.join(" ")).toMatch(
          /^(opened ?)?(dropped|muted( resolved)?|(muted )?fired( (reminded|flapping|settled))*( resolved)?)?$/,
        );
      }
    }),
  );
});

it("an incident that is resolved hears of nothing any more", () => {
  const reasons = fc.constantFrom("recovered", "gone", "silenced", "rule_removed");
  fc.assert(
    fc.property(reasons, moves, timings, (reason, played, timing) => {
      const resolved = { name: "resolved", reason } as const;
      for (const move of played) {
        const late = eventOf(move, { ms: 1e9, polls: 1e6 });
        expect(advanceIncident(resolved, late, timing)).toEqual({ phase: resolved, step: null });
      }
    }),
  );
});

function isNotified(phase: IncidentPhase | null): boolean {
  return phase?.name === "firing" && phase.notifiedAtMs !== null;
}

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
  fc.assert(
    fc.property(moves, timings, (played, timing) => {
      live(played, timing, ({ before, after: { step, phase } }) => {
        const way = `${before?.name ?? "none"} -> ${phase?.name ?? "none"}`;
        expect(waysOf[step ?? "none"]).toContain(way);
      });
    }),
  );
});

it("while a silence is about it nothing is told but that what was told has ended", () => {
  fc.assert(
    fc.property(moves, timings, (played, timing) => {
      live(played, timing, ({ before, event, after: { phase, step } }) => {
        if (event.kind !== "holds" || !event.silenced) return;
        expect(step === null || ["opened", "muted", "resolved"].includes(step)).toBe(true);
        expect(isNotified(phase)).toBe(false);
        expect(step === "resolved").toBe(isNotified(before));
      });
    }),
  );
});

it("of what flaps, entering and leaving is told only when it begins and when it settled", () => {
  fc.assert(
    fc.property(moves, timings, (played, timing) => {
      live(played, timing, ({ before, event, after: { step } }) => {
        if (before?.name !== "firing" || !before.flapping || before.notifiedAtMs === null) return;
        if (event.kind === "holds" && event.silenced) return;
        if (event.kind !== "holds" && event.kind !== "clears") return;
        const settled = event.kind === "holds" ? "settled" : "resolved";
        expect([null, ...(event.flaps === "no" ? [settled] : [])]).toContain(step);
      });
    }),
  );
});

it("an unseen subject is as if its clock had stood still", () => {
  const later = (reading: ClockReading, by: ClockReading): ClockReading => ({
    ms: reading.ms + by.ms,
    polls: reading.polls + by.polls,
  });
  const stretches = fc.record({
    ms: fc.constantFrom(1, 30_000, 50_000, 150_000),
    polls: fc.integer({ min: 1, max: 3 }),
  });
  fc.assert(
    fc.property(moves, timings, stretches, stretches, (played, timing, passed, next) => {
      live(played, timing, ({ now, after: { phase } }) => {
        if (phase === null) return;
        const unseen = advanceIncident(phase, { kind: "unobserved", passed }, timing).phase;
        const soon = later(now, next);
        for (const seen of [holds, clears]) {
          const without = advanceIncident(phase, seen(soon), timing);
          const event = seen(later(soon, passed));
          expect(advanceIncident(unseen, event, timing).step).toBe(without.step);
        }
      });
    }),
  );
});

it("a phase is the same after it was written down and read again", () => {
  fc.assert(
    fc.property(moves, timings, (played, timing) => {
      live(played, timing, ({ after: { phase } }) => {
        if (phase === null) return;
        const incident: Incident = { ...template, phase };
        expect(incidentFromRow({ ...blankRow, ...incidentToRow(1, incident) })).toEqual(incident);
      });
    }),
  );
});

const template: Omit<Incident, "phase"> = {
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
};

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
