import { findSandbox, findServer } from "../fleet/snapshot.ts";
import { conditionOfIncident, type Incident } from "./incident.ts";
import { flappingCondition, isPool } from "./subjects.ts";
import type { WatchedView } from "./target-view.ts";

/** Describes a subject while the condition of its incident does not hold. */
export interface PresentSubject {
  readonly status: string;
  /** UTC milliseconds; null: not known, or not stated. */
  readonly sinceMs: number | null;
}

/** Null: the condition holds, the incident does not fire, or what its subject is at present is not known. */
export function presentSubject(
  watched: WatchedView | null,
  incident: Incident,
  targets: readonly WatchedView[],
): PresentSubject | null {
  const { phase, subject } = incident;
  if (phase.name !== "firing" || phase.clearSinceMs === null) return null;
  if (isUnobserved(watched, incident, targets)) return null;
  if (subject.kind !== "server" && subject.kind !== "sandbox" && subject.kind !== "target") {
    return { status: "well", sinceMs: null };
  }
  if (watched === null) return null;
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

/**
 * Whether it is of a server or sandbox of a target whose last state is too old to be shown as the present one, or of a
 * pool of such targets alone.
 */
export function isUnobserved(
  watched: WatchedView | null,
  { subject }: Incident,
  targets: readonly WatchedView[],
): boolean {
  if (!isPool(subject)) {
    return watched?.withheld === true && (subject.kind === "server" || subject.kind === "sandbox");
  }
  const { region, key } = subject;
  return targets.every(
    ({ target, withheld }) =>
      withheld || target.region !== (region ?? target.region) || target.key !== (key ?? target.key),
  );
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
