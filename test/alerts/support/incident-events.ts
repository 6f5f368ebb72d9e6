import type {
  ClockReading,
  IncidentEvent,
  IncidentPhase,
} from "../../../src/alerts/incident-phase.ts";

type Holds = Extract<IncidentEvent, { kind: "holds" }>;
type Clears = Extract<IncidentEvent, { kind: "clears" }>;
type Firing = Extract<IncidentPhase, { name: "firing" }>;

export const minute = 60_000;
export const at = (minutes: number): ClockReading => ({ ms: minutes * minute, polls: minutes });

/** Not silenced, acknowledged or flapping, unless the test says so. */
export function holds(now: ClockReading, more: Partial<Holds> = {}): Holds {
  return { kind: "holds", now, silenced: false, acknowledged: false, flaps: "no", ...more };
}

export function clears(now: ClockReading, more: Partial<Clears> = {}): Clears {
  return { kind: "clears", now, flaps: "no", ...more };
}

export function firingSince(
  heldSince: ClockReading,
  notifiedAtMs: number | null,
  more: Partial<Firing> = {},
): Firing {
  return { name: "firing", heldSince, clearSinceMs: null, notifiedAtMs, flapping: false, ...more };
}
