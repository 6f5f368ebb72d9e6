import { findSandbox, findServer } from "../fleet/snapshot.ts";
import { conditionOfIncident, type Incident } from "./incident.ts";
import { flappingCondition } from "./subjects.ts";
import type { WatchedView } from "./target-view.ts";

/** What a subject is while the condition of its incident does not hold. */
export interface PresentSubject {
  readonly status: string;
  /** UTC milliseconds; null: not known, or not stated. */
  readonly sinceMs: number | null;
}

/** Null: the condition holds, the incident does not fire, or what its subject is at present is not known. */
export function presentSubject(
  watched: WatchedView | null,
  incident: Incident,
): PresentSubject | null {
  const { phase, subject } = incident;
  if (phase.name !== "firing" || phase.clearSinceMs === null) return null;
  if (subject.kind !== "server" && subject.kind !== "sandbox" && subject.kind !== "target") {
    return { status: "well", sinceMs: null };
  }
  if (watched === null || isUnobserved(watched, incident)) return null;
  if (subject.kind === "target") return { status: watched.up ? "up" : "down", sinceMs: null };
  const { snapshot } = watched.state;
  const found =
    subject.kind === "server"
      ? findServer(snapshot, subject.sandboxId, subject.serverId)
      : findSandbox(snapshot, subject.sandboxId);
  return found
    ? { status: found.status, sinceMs: found.since.momentKnown ? found.since.atMs : null }
    : { status: "gone", sinceMs: null };
}

/** Whether it is of a server or sandbox of a target whose last state is too old to be shown as the present one. */
export function isUnobserved(watched: WatchedView | null, { subject }: Incident): boolean {
  return watched?.withheld === true && (subject.kind === "server" || subject.kind === "sandbox");
}

/** Such as "flapping, now idle". */
export function clearedCondition(
  incident: Incident,
  { status }: Pick<PresentSubject, "status">,
): string {
  const { phase } = incident;
  const isFlapping = phase.name === "firing" && phase.flapping;
  const past = isFlapping ? flappingCondition : `not ${conditionOfIncident(incident)} any more`;
  return `${past}, now ${status}`;
}
