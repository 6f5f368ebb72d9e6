import { poolText, serverText } from "../core/incident.ts";
import type { Incident, Subject } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import { countServers } from "../core/snapshot/snapshot.ts";
import { matchText } from "../core/written-match.ts";
import type { SilenceMatch } from "../core/silence.ts";
import type { WatchedView } from "../core/watched-view.ts";
import type { IncidentView, ReceiverView, StatusView, TargetView } from "./status-page.ts";

export interface StatusSource {
  readonly version: string;
  readonly nowMs: number;
  readonly targets: readonly WatchedView[];
  /** The open incidents that belong to no target. */
  readonly untargeted: readonly Incident[];
  /** The configured receivers' names. */
  readonly receivers: readonly string[];
  /** Silences and maintenance windows in force. */
  readonly silences: readonly SilenceInForce[];
  readonly acknowledgedBy: (incidentId: string) => string | null;
  /** What waits for receivers; those with nothing may be left out. */
  readonly waiting: readonly ReceiverView[];
}

export interface SilenceInForce {
  readonly match: SilenceMatch;
  readonly by: string;
  readonly reason: string | null;
  readonly endsAtMs: number;
}

/** What the status page shows of the daemon's state, firing incidents first. */
export function viewStatus(source: StatusSource): StatusView {
  const { version, nowMs, targets, untargeted, receivers, silences, waiting, acknowledgedBy } =
    source;
  const view = (target: Target | null, incident: Incident): IncidentView =>
    viewIncident(target, incident, acknowledgedBy(incident.id));
  const incidents = [
    ...targets.flatMap(({ target, state }) =>
      Array.from(state.incidents.values(), (incident) => view(target, incident)),
    ),
    ...untargeted.map((incident) => view(null, incident)),
  ];
  return {
    version,
    nowMs,
    silences: silences.map(({ match, ...rest }) => ({ ...rest, match: matchText(match) })),
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

function viewIncident(
  target: Target | null,
  incident: Incident,
  acknowledgedBy: string | null,
): IncidentView {
  const { rule, severity, phase, subject, startedAtMs } = incident;
  const place = subject.kind === "pool" ? subject : target;
  return {
    region: place?.region ?? null,
    key: place?.key ?? null,
    rule,
    severity,
    state: phase.name,
    subject: subjectText(subject),
    startedAtMs,
    note: noteOf(incident, acknowledgedBy),
  };
}

function subjectText(subject: Subject): string {
  switch (subject.kind) {
    case "server":
      return serverText(subject);
    case "target":
      return "the target itself";
    case "pool":
      return poolText(subject);
    case "receiver":
      return `receiver ${subject.receiver}`;
  }
}

function noteOf({ phase }: Incident, acknowledgedBy: string | null): string | null {
  if (phase.name === "firing" && phase.toldAtMs === null) return "not told: silenced";
  return acknowledgedBy === null ? null : `acknowledged by ${acknowledgedBy}`;
}
