import type { Command } from "commander";
import { listIncidents } from "../api/operations/incidents.ts";
import type { IncidentView } from "../api/operations/incidents.ts";
import { historyFields, historyOptions, showHistory } from "./history.ts";
import type { FollowTimes, HistoryOptions } from "./history.ts";
import type { Terminal } from "./terminal.ts";

interface IncidentsOptions extends HistoryOptions {
  readonly state?: string;
  readonly rule?: string;
  readonly severity?: string;
}

export function addIncidents(program: Command, terminal: Terminal): void {
  historyOptions(program.command("incidents"))
    .description("list incidents, latest first")
    .option("--state <states>", "only these states, separated by commas: pending, firing, resolved")
    .option("--rule <names>", "only incidents of these rules, separated by commas")
    .option(
      "--severity <severities>",
      "only these severities, separated by commas: critical, warning, info",
    )
    .action((options: IncidentsOptions) => incidents(options, terminal));
}

/** Followed, an incident is printed each time that it changes. */
export async function incidents(
  options: IncidentsOptions,
  terminal: Terminal,
  times?: FollowTimes,
): Promise<void> {
  const { state, rule, severity } = options;
  const fields = { ...historyFields(options), state, rule, severity };
  const list = {
    operation: listIncidents,
    requestOf: (range: object) => ({ ...fields, ...range }),
    itemsOf: (view: { readonly incidents: readonly IncidentView[] }) => view.incidents,
    header: ["id", "state", "severity", "rule", "region", "key", "subject", "started", "resolved"],
    cellsOf,
    nothing: "There are no such incidents.\n",
  };
  await showHistory(options, terminal, list, times);
}

function cellsOf(incident: IncidentView): readonly string[] {
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
