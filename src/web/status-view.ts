import { subjectFacts, poolText, serverText } from "../alerts/incident.ts";
import type { Incident, Subject } from "../alerts/incident.ts";
import type { Target } from "../fleet/model.ts";
import type { ProbeView } from "../alerts/probe.ts";
import { matchText } from "../alerts/silence.ts";
import { severities } from "../alerts/rule.ts";
import type { SilenceMatch } from "../alerts/silence.ts";
import type { PollDetail, WatchedView } from "../alerts/watched-view.ts";
import { viewProbes } from "./probe-table.ts";
import type { IncidentView, ReceiverView, StatusView, TargetView } from "./status-page.ts";

export interface StatusSource {
  readonly version: string;
  readonly nowMs: number;
  readonly targets: readonly WatchedView[];
  /** Left out: there are none. */
  readonly probes?: readonly ProbeView[];
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
    probes: viewProbes(source.probes ?? []),
    receivers: receivers.map(
      (receiver) =>
        waiting.find((each) => each.receiver === receiver) ?? { receiver, pending: 0, dead: 0 },
    ),
    incidents: incidents.toSorted(
      (a, b) => urgencyOf(b) - urgencyOf(a) || b.startedAtMs - a.startedAtMs,
    ),
  };
}

/** Notified incidents come before silenced and pending ones, and higher severities before lower ones. */
function urgencyOf({ state, muted, severity }: IncidentView): number {
  const rank = state !== "firing" ? 0 : muted ? 1 : 2;
  return rank * severities.length - severities.findIndex((each) => each === severity);
}

function viewTarget({ target, state, polled, up, withheld, detail }: WatchedView): TargetView {
  const { lastFailure, lastSuccessAtMs } = state.progress;
  return {
    ...target,
    state: !polled ? "not polled yet" : up ? "up" : "down",
    reason: up
      ? null
      : lastFailure === null
        ? "not stored, see the log"
        : reasonOf(lastFailure, detail),
    partial: polled && up ? (detail?.text ?? null) : null,
    lastSuccessAtMs,
    servers: withheld || lastSuccessAtMs === null ? null : state.snapshot.tallies.servers,
  };
}

function reasonOf(reason: string, detail: PollDetail | null): string {
  return detail === null ? reason : `${reason}, ${detail.text}`;
}

function viewIncident(
  target: Target | null,
  incident: Incident,
  acknowledgedBy: string | null,
): IncidentView {
  const { rule, severity, phase, subject, startedAtMs } = incident;
  const { region, key } = subjectFacts(target, subject);
  return {
    id: incident.id,
    region,
    key,
    rule,
    severity,
    state: phase.name,
    subject: subjectText(subject),
    startedAtMs,
    muted: isMuted(incident),
    notes: notesOf(incident, acknowledgedBy),
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
    case "probe":
      return `probe ${subject.probe}`;
    case "receiver":
      return `receiver ${subject.receiver}`;
  }
}

function isMuted({ phase }: Incident): boolean {
  return phase.name === "firing" && phase.notifiedAtMs === null;
}

function notesOf(incident: Incident, acknowledgedBy: string | null): readonly string[] {
  const { phase } = incident;
  return [
    ...(isMuted(incident) ? ["silenced"] : []),
    ...(phase.name === "firing" && phase.flapping ? ["flapping"] : []),
    ...(acknowledgedBy === null ? [] : [`acknowledged by ${acknowledgedBy}`]),
  ];
}
