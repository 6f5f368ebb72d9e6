import { serverText } from "../core/incident.ts";
import type { Incident } from "../core/incident.ts";
import { countServers } from "../core/snapshot/snapshot.ts";
import type { WatchedView } from "../core/watched-view.ts";
import type { IncidentView, ReceiverView, StatusView, TargetView } from "./status-page.ts";

export interface StatusSource {
  readonly version: string;
  readonly nowMs: number;
  readonly targets: readonly WatchedView[];
  /** The configured receivers' names. */
  readonly receivers: readonly string[];
  /** What waits for receivers; those with nothing may be left out. */
  readonly waiting: readonly ReceiverView[];
}

/** What the status page shows of the daemon's state, firing incidents first. */
export function viewStatus({ targets, receivers, waiting, ...rest }: StatusSource): StatusView {
  const incidents = targets.flatMap((watched) =>
    Array.from(watched.state.incidents.values(), (incident) => viewIncident(watched, incident)),
  );
  return {
    ...rest,
    targets: targets.map(viewTarget),
    receivers: receivers.map(
      (receiver) =>
        waiting.find((each) => each.receiver === receiver) ?? { receiver, pending: 0, dead: 0 },
    ),
    incidents: incidents.toSorted(
      (a, b) => a.state.localeCompare(b.state) || b.startedAtMs - a.startedAtMs,
    ),
  };
}

function viewTarget({ target, state, polled, up, withheld }: WatchedView): TargetView {
  const { lastFailure, lastSuccessAtMs } = state.progress;
  return {
    ...target,
    sight: !polled ? "not polled yet" : up ? "seen" : "blind",
    reason: lastFailure ?? (up ? null : "not kept, see the log"),
    lastSuccessAtMs,
    servers: withheld || lastSuccessAtMs === null ? null : countServers(state.snapshot),
  };
}

function viewIncident({ target }: WatchedView, incident: Incident): IncidentView {
  const { rule, severity, phase, subject, startedAtMs } = incident;
  return {
    ...target,
    rule,
    severity,
    state: phase.name,
    subject: subject.kind === "server" ? serverText(subject) : "the target itself",
    startedAtMs,
  };
}
