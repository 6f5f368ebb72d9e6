import type { IncidentView } from "../interventions/views.ts";
import { historyFields, showHistory } from "./history.ts";
import type { HistoryOptions } from "./history.ts";
import type { FollowTimes } from "./follow.ts";
import type { Terminal } from "./terminal.ts";

export interface IncidentsOptions extends HistoryOptions {
  readonly state?: string;
  readonly rule?: string;
  readonly severity?: string;
}

/** What is and was wrong, latest begun first; followed, each whenever it is another than it was. */
export async function incidents(
  options: IncidentsOptions,
  terminal: Terminal,
  times?: FollowTimes,
): Promise<void> {
  const { state, rule, severity } = options;
  const query = { ...historyFields(options), state, rule, severity };
  await showHistory(options, terminal, {
    ask: (desk, range) => desk.incidents({ ...query, ...range }),
    itemsOf: (view) => view.incidents,
    header: ["id", "state", "severity", "rule", "region", "key", "subject", "began", "over"],
    rowOf,
    nothing: "There are no such incidents.\n",
    times,
  });
}

function rowOf(incident: IncidentView): readonly string[] {
  return [
    incident.id,
    stateText(incident),
    incident.severity,
    incident.rule,
    incident.region ?? "",
    incident.key ?? "",
    subjectText(incident),
    incident.started_at,
    incident.resolved_at ?? "",
  ];
}

function stateText({
  state,
  muted,
  flapping,
  acknowledged_by: author,
  resolved_reason,
}: IncidentView): string {
  if (state === "resolved") return `resolved (${resolved_reason ?? "recovered"})`;
  const notes = [
    ...(muted ? ["silenced"] : []),
    ...(flapping ? ["flapping"] : []),
    ...(author ? [`acknowledged by ${author}`] : []),
  ];
  return notes.length === 0 ? state : `${state} (${notes.join(", ")})`;
}

function subjectText(incident: IncidentView): string {
  const { subject, server_id: id, server_name: name, receiver, probe } = incident;
  switch (subject) {
    case "server":
      return name === null ? (id ?? "") : `${name} ${id ?? ""}`;
    case "target":
      return "the target";
    case "pool":
      return name === null ? "the pool" : `pool of ${name}`;
    case "probe":
      return `probe ${probe ?? ""}`;
    case "receiver":
      return `receiver ${receiver ?? ""}`;
  }
}
