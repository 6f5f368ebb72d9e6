import type { IncidentView } from "../interventions/views.ts";
import { nextLine } from "./pages.ts";
import type { PageOptions } from "./pages.ts";
import { atDesk, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface IncidentsOptions extends DeskOptions, PageOptions {
  readonly state?: string;
  readonly rule?: string;
}

/** What is and was wrong, latest begun first. */
export async function incidents(options: IncidentsOptions, terminal: Terminal): Promise<void> {
  const { state, rule, limit, before } = options;
  const query = {
    ...(state && { state }),
    ...(rule && { rule }),
    ...(limit && { limit }),
    ...(before && { before }),
  };
  const view = await atDesk(options, terminal, (desk) => desk.incidents(query));
  show(view, options, terminal, ({ incidents: found, next }) =>
    found.length === 0 ? "There are no such incidents.\n" : toTable(found) + nextLine(next),
  );
}

function toTable(found: readonly IncidentView[]): string {
  return renderTable(
    ["id", "state", "severity", "rule", "region", "key", "subject", "began", "over"],
    found.map((incident) => [
      incident.id,
      stateText(incident),
      incident.severity,
      incident.rule,
      incident.region ?? "",
      incident.key ?? "",
      subjectText(incident),
      incident.started_at,
      incident.resolved_at ?? "",
    ]),
  );
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
